"""``rocblas-bench`` and ``hipblaslt-bench``: matrix products of the ROCm libraries.

Both measure the GPU that ``--device`` names and print one line of names and one of values.
``each_gpu`` runs them on every GPU in turn, ``plan`` makes the commands of both, and ``table``
reads their output.
"""
