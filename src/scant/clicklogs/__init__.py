"""Click logs of rankings: what they say of another ranker, and rankers learnt from them."""
