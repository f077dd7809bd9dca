#!/usr/bin/python3
"""Adds one more than each rank over all ranks, by gloo, and prints the sum."""
import datetime

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=5))
total = torch.tensor(float(dist.get_rank() + 1))
dist.all_reduce(total)
print(f"rank {dist.get_rank()}: {total.item():.0f}")
dist.destroy_process_group()
