"""Layers that are divided over all ranks, each in its own way."""
