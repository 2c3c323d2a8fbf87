"""The numbers behind the sections: summaries over seeds, paired comparisons, shares, reference values."""
