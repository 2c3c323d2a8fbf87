"""Packed data in shards: files of a bounded size, by class, in a storage that all nodes reach.

    from dml.data.shards import shard_packed
    shard_packed("store/packed/mine", "store/packed/mine-shards", storage="s3://bucket/mine", cache="2 GB")
    open_packed("store/packed/mine-shards").images[rows]      # as from the mapped array, through a local cache

| file | what |
|---|---|
| `layout.py` | which rows are in which shard |
| `writing.py` | one shard at a time from any reader of rows, or all shards of a packed folder |
| `storage.py` | a folder or a URI (`s3://`, `gs://`, `hdfs://`) |
| `cache.py` | a local file of bounded size with slots for shards, shared by processes |
| `images.py` | `images[rows]` |
| `members.py` | the samples of each class on disk, which class-balanced batches are drawn from |

Rows keep the numbers that they have in the packed folder, so splits, noise, digests and trials' keys are the same with
and without shards. A shard is a `.npy` file; the cache holds its rows.
"""

from __future__ import annotations

from dml.data.shards.cache import ShardCache
from dml.data.shards.images import ShardedImages
from dml.data.shards.layout import Layout, ShardTable, plan_layout
from dml.data.shards.members import StoredMembers, write_members
from dml.data.shards.writing import ShardJob, shard_packed, shards_id, write_shard

__all__ = [
    "Layout",
    "ShardCache",
    "ShardJob",
    "ShardTable",
    "ShardedImages",
    "StoredMembers",
    "plan_layout",
    "shard_packed",
    "shards_id",
    "write_members",
    "write_shard",
]
