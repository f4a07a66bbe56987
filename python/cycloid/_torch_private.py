"""What is taken from PyTorch beyond what it documents, and what happens where a version lacks it.

The names are those of PyTorch 2.13. Without them everything works that PyTorch documents.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

_KNOWN = "2.13."

in_transform: Callable[[], bool] = getattr(
    torch._C, "_are_functorch_transforms_active", lambda: True
)
"""Whether a transform of torch.func is at work. Where that cannot be known, a tape is kept."""

is_legacy_batched: Callable[[Any], bool] = getattr(
    getattr(torch._C, "_functorch", None), "is_legacy_batchedtensor", lambda tensor: False
)
"""Whether a tensor is one of is_grads_batched=True, which is then refused with advice."""


def constant(function: Any) -> Any:
    """A function of constants, for Dynamo to call: torch.compiler.assume_constant_result. Where it
    is known how, without importing Dynamo, which takes a second.
    """
    if not torch.__version__.startswith(_KNOWN):
        return torch.compiler.assume_constant_result(function)
    function._dynamo_marked_constant = True
    return function


def register_autograd(library: Any, operator: Any, backward: Any, setup_context: Any) -> None:
    """As CustomOpDef.register_autograd. Where it is known how, also inside transforms of torch.func
    (grad, jacrev), where PyTorch 2.13 refuses what that registers.
    """
    operator.register_autograd(backward, setup_context=setup_context)
    try:
        kernel = _kernel_of_any_level(operator._opoverload, backward, setup_context)
        name = operator._qualname.partition("::")[2]
    except (ImportError, AttributeError):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there was one before
        library.impl(name, kernel, "Autograd", with_keyset=True, allow_override=True)


def _kernel_of_any_level(overload: Any, backward: Any, setup_context: Any) -> Callable[..., Any]:
    from torch._functorch.autograd_function import enable_single_level_autograd_function

    below, after = torch._C._AutoDispatchBelowAutograd, torch._C._after_autograd_keyset
    redispatch = overload.redispatch

    class Level(torch.autograd.function._SingleLevelFunction):
        """Of one level of the transforms; the last argument says which kernels come next."""

        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            *inputs, keys = inputs
            with below():
                output = redispatch(keys & after, *inputs)
            setup_context(ctx, inputs, output)
            return output

        @staticmethod
        def backward(ctx: Any, *bars: Any) -> Any:
            return *backward(ctx, *bars), None

    def kernel(keys: Any, *inputs: Any) -> Any:
        with enable_single_level_autograd_function():
            return Level.apply(*inputs, keys)

    return kernel
