"""The similarities that generated code computes, by name."""

from __future__ import annotations

from smpcore.codegen.exponentials import FeatureWise, Laplacian, Rbf
from smpcore.codegen.kernel import Kernel
from smpcore.codegen.overlap import Intersection
from smpcore.codegen.products import Cosine, Ncc, Poly

#: Name of a similarity -> how generated code computes it.
KERNELS: dict[str, Kernel] = {
    "rbf": Rbf(),
    "poly": Poly(),
    "laplacian": Laplacian(),
    "cosine": Cosine(),
    "ncc": Ncc(),
    "features": FeatureWise(),
    "intersection": Intersection(),
}
