"""Federated learning on MNIST: the server's side, and a client in NumPy alone."""
