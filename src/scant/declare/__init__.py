"""What a learner, a family and a class of one's own are, and what their run files share."""
