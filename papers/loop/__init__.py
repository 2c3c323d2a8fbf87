"""LoOp (Vasudeva et al.)."""
