from dml.data import augment as augment
from dml.data import batches as batches
from dml.data import packing as packing
from dml.data import raw as raw
from dml.data import sources as sources
from dml.data import splits as splits

class DataError(ValueError): ...
