"""What the theory page computes with the losses as implemented."""
