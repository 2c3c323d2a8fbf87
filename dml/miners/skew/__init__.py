"""The skew of sampling (eta, gamma), estimated from counts of `PairDistances`, and the noise rate that it tolerates."""
