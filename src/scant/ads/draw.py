"""Write the logs of a study: drawn from a simulated campaign, or made from a classification set."""

from scant.ads import convert
from scant.bandits import campaigns
from scant.data import logs
from scant.errors import DataError
from scant.files import anew
from scant.randomness import generator

PARTS = {"train": "targeted", "test": "uniform"}  # the policy of a campaign that logs each part


def draw(name: str, settings: dict, inputs, targets, study_seed: int, seed: int) -> None:
    """Write the training log and the test log of one seed.

    From a campaign, its targeted policy logs the training log, its uniform policy the test log.
    From a classification set, the training log is a bandit log of the training part; the test log
    shows each example of the test part with its right class, so that the CTR of every policy can be
    computed exactly.

    name : the log's id
    settings : the log's settings in the study
    inputs : the tables of the classification set, or the file of the campaign
    targets : the files to write, for the parts train and test
    """
    axes = (study_seed, "bandit", name, seed)
    if "campaign" in settings:
        campaign, part_logs = campaigns.load(inputs[0]), {}
        if (campaign.name, campaign.settings) != (
            settings["campaign"],
            campaigns.Settings(**settings["settings"]),
        ):
            reason = f"a campaign {campaign.name} of other settings than the log {name} has"
            raise DataError(inputs[0], reason, advice=anew(inputs[0]))
        for part, policy in PARTS.items():
            rows = settings.get(f"{part}_rows", campaign.rows)
            part_logs[part] = campaign.log(rows, generator(*axes, part), policy)
        metadata = {
            "source": "campaign",
            "campaign": campaign.name,
            "settings": settings["settings"],
        }
        metadata["expected"] = {
            "impressions": (campaign.shares * len(part_logs["train"])).tolist(),
            "rates": campaign.click_rates.tolist(),
        }
    else:
        labelled, share = convert.read_labelled(inputs), settings.get("share", convert.SHARE)
        train, test = convert.split(labelled, generator(*axes, "split"), share)
        part_logs = {
            "train": convert.bandit(labelled, generator(*axes, "actions"), train),
            "test": convert.known(labelled, test),
        }
        metadata = {
            "source": "classification",
            "dataset": settings["dataset"],
            "settings": {"share": share},
        }
    for part, target in zip(PARTS, targets, strict=True):
        logs.write(part_logs[part], target, metadata | {"log": name, "part": part, "seed": seed})
