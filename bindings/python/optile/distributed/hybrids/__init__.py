"""Replicas of a model that some ranks run together, and how many ranks that are."""
