"""Games on a fixed set of items: streams of relevances, losses, learners, and how one plays."""
