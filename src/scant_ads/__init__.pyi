from scant_ads.api import Evaluation as Evaluation
from scant_ads.api import Log as Log
from scant_ads.api import Policy as Policy
from scant_ads.api import Report as Report
from scant_ads.api import evaluate as evaluate
from scant_ads.api import fit as fit
