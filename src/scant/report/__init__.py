"""From runs to what a paper shows: chosen rates, tables with intervals, figures."""
