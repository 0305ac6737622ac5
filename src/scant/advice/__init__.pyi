from scant.advice.api import Evaluation as Evaluation
from scant.advice.api import Log as Log
from scant.advice.api import Policy as Policy
from scant.advice.api import Report as Report
from scant.advice.api import check_parts as check_parts
from scant.advice.api import evaluate as evaluate
from scant.advice.api import fit as fit
from scant.advice.api import write_part as write_part
