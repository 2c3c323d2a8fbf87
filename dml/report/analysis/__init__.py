"""The numbers behind the sections: summaries over seeds, paired comparisons, shares, published values."""
