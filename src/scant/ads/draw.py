"""The logs of a study: drawn from a campaign, or made of a classification set."""

from scant.ads import campaigns, convert
from scant.data import logs
from scant.randomness import generator

SOURCES = ("classification", "campaign", "log")  # of logs: made, drawn, or as they were logged
PARTS = {"train": "targeted", "test": "uniform"}  # of a log, and the policy of a campaign that logs them


def draw(name: str, settings: dict, inputs, targets, study_seed: int, seed: int) -> None:
    """Write the training log and the test log of a seed.

    A campaign's are of its targeted and of its uniform policy. A classification set's are the bandit log of its
    training part, and its test part, whose rows show the right class: everything is known of them.

    Parameters
    ----------
    name : the log's id
    settings : those of the log, see the schema of a study
    inputs : the tables of the classification set, or the campaign's file
    targets : the files to write, of the parts train and test

    Raises
    ------
    SettingError, DataError : the settings do not fit the data, or an input is not whole
    """
    axes = (study_seed, "bandit", name, seed)
    if "campaign" in settings:
        campaign, drawn = campaigns.load(inputs[0]), {}
        for part, policy in PARTS.items():
            rows = settings.get(f"{part}_rows", campaign.rows)
            drawn[part] = campaign.log(rows, generator(*axes, part), policy)
        about = {"source": "campaign", "campaign": campaign.name, "settings": settings["settings"]}
        about["expected"] = {
            "impressions": (campaign.shares * len(drawn["train"])).tolist(),
            "rates": campaign.click_rates.tolist(),
        }
    else:
        labelled, share = convert.read_labelled(inputs), settings.get("share", convert.SHARE)
        train, test = convert.split(labelled, generator(*axes, "split"), share)
        drawn = {
            "train": convert.bandit(labelled, generator(*axes, "actions"), train),
            "test": convert.known(labelled, test),
        }
        about = {"source": "classification", "dataset": settings["dataset"], "settings": {"share": share}}
    for part, target in zip(PARTS, targets, strict=True):
        logs.write(drawn[part], target, about | {"log": name, "part": part, "seed": seed})
