"""Dense networks as operators of the core, with hand-written derivatives up to the third.

>>> import numpy as np
>>> import cycloid as cy
>>> net = cy.networks.MLP((2, 64, 64, 1), seed=1)
>>> net
<MLP 2-64-64-1, tanh, float64: 4417 weights>
>>> x = np.linspace(-1, 1, 10).reshape(5, 2)
>>> net(x).shape, net.gradient(x).shape
((5, 1), (5, 2))
>>> g = net.gradient_pullback(x, np.ones((5, 2)))    # of the sum of the gradient's components
>>> g
<NetworkGradient: x (5, 2), weights (4417,)>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._options import as_integer, as_precision, as_real, as_text, shown

__all__ = ["MLP", "GradientTrainer", "NetworkGradient", "activations"]

activations: tuple[str, ...] = tuple(_core.activation_names)
"""What a hidden unit may do."""

_MOST_SEED = 2**64 - 1


def as_sizes(sizes: Any, what: str) -> list[int]:
    """Widths of layers.

    >>> as_sizes((2, 64, 1), "sizes")
    [2, 64, 1]
    """
    try:
        given = tuple(sizes)
    except TypeError:
        raise TypeError(f"{what} must be a sequence of ints; got {shown(sizes)}") from None
    return [as_integer(n, "a size of a layer", 1, 2**20) for n in given]


class NetworkGradient:
    """Cotangents of what a network was given."""

    __slots__ = ("v", "weights", "x")

    def __init__(self, x: np.ndarray, weights: np.ndarray, v: np.ndarray | None = None):
        self.x = x
        """Shaped like x."""
        self.weights = weights
        """Flat, summed over rows."""
        self.v = v
        """Of a direction, where there was one; else None."""

    def __repr__(self) -> str:
        v = "" if self.v is None else f", v {self.v.shape}"
        return f"<NetworkGradient: x {self.x.shape}{v}, weights {self.weights.shape}>"


class MLP:
    """A dense network: hidden layers with one activation, and a linear last layer with bias.

    sizes: inputs, hidden layers, outputs. activation: one of `activations`. seed: of the first
    weights, uniform in ±1/sqrt(inputs of the layer). residual: hidden layers of equal width add
    what they were given. angles: inputs on which the network depends through sine and cosine only.
    frequencies (m, inputs): sin(F x) and cos(F x) beside the inputs. input_shift, input_scale,
    output_shift, output_scale: (x - shift) / scale goes in, shift + scale y comes out; they are
    kept with the network and are no weights.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        activation: str = "tanh",
        seed: int = 0,
        dtype: Any = "float64",
        *,
        residual: bool = False,
        angles: Sequence[int] = (),
        frequencies: Any = None,
        input_shift: Any = None,
        input_scale: Any = None,
        output_shift: Any = None,
        output_scale: Any = None,
    ):
        self._sizes = tuple(as_sizes(sizes, "sizes"))
        self._activation = as_text(activation)
        self._dtype = np.dtype(as_precision(dtype))
        if self._dtype not in (np.float32, np.float64):
            raise Error(f'dtype must be "float64" or "float32"; got {shown(dtype)}')
        self._bits = str(self._dtype.itemsize * 8)
        self._options: dict[str, Any] = {
            "residual": bool(residual),
            "angles": sorted(as_integer(a, "an angle", 0) for a in angles),
            "frequencies": self._numbers(frequencies, "frequencies", 2),
        }
        norm = {
            "input_shift": input_shift,
            "input_scale": input_scale,
            "output_shift": output_shift,
            "output_scale": output_scale,
        }
        ends = (("input", self._sizes[0]), ("output", self._sizes[-1])) if self._sizes else ()
        for side, n in ends:
            shift, scale = norm[f"{side}_shift"], norm[f"{side}_scale"]
            if shift is None and scale is None:
                norm[f"{side}_shift"] = norm[f"{side}_scale"] = []
                continue
            for what, value, default in (("shift", shift, 0.0), ("scale", scale, 1.0)):
                value = np.full(n, default) if value is None else value
                norm[f"{side}_{what}"] = self._numbers(value, f"{side}_{what}", 1)
        self._options.update(norm)
        self._core = _core.Mlp(list(self._sizes), self._activation, **self._options)
        self._call = getattr(self._core, f"call{self._bits}")
        self._bind = getattr(_core, f"MlpWeights{self._bits}")
        first = self._core.initial_weights(as_integer(seed, "seed", 0, _MOST_SEED))
        self._keep(first.astype(self._dtype))

    def _keep(self, weights: np.ndarray) -> None:
        weights.flags.writeable = False
        self._weights = weights
        self._bound = self._bind(self._core, weights)

    @staticmethod
    def _numbers(value: Any, what: str, axes: int) -> list[float]:
        if value is None:
            return []
        array = as_numbers(value, np.float64, what)
        if array.ndim > axes:
            raise Error(f"{what} must have at most {axes} axes; got shape {array.shape}")
        return [float(v) for v in array.ravel()]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of each layer: inputs, hidden ones, outputs."""
        return self._sizes

    @property
    def activation(self) -> str:
        """What a hidden unit does, by name."""
        return self._activation

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64."""
        return self._dtype

    @property
    def weights(self) -> np.ndarray:
        """Flat and read-only: weight0 (out, in) by rows, bias0, weight1, … Assign all of them."""
        return self._weights

    @weights.setter
    def weights(self, value: Any) -> None:
        self._keep(np.array(self._checked_weights(value)))

    def unpack(self, weights: Any = None) -> dict[str, np.ndarray]:
        """The arrays in flat weights, by name: {"weight0": (out, in), "bias0": (out,), …}.

        >>> import cycloid as cy
        >>> {name: w.shape for name, w in cy.networks.MLP((2, 3, 1)).unpack().items()}
        {'weight0': (3, 2), 'bias0': (3,), 'weight1': (1, 3), 'bias1': (1,)}
        """
        flat, at, out = self._given(weights), 0, {}
        for name, shape in self._core.arrays:
            size = int(np.prod(shape))
            out[name] = flat[at : at + size].reshape(shape)
            at += size
        return out

    def __call__(self, x: Any, weights: Any = None) -> np.ndarray:
        """(..., inputs) -> (..., outputs)."""
        bound, x = self._bound_to(weights), self._rows(x, self._sizes[0], "x")
        y = np.empty((*x.shape[:-1], self._sizes[-1]), self._dtype)
        bound.value(x, y)
        return y

    def pullback(
        self, x: Any, y_bar: Any, weights: Any = None, *, threads: int | None = None
    ) -> NetworkGradient:
        """Cotangents of x and of the weights, given those of net(x)."""
        w, x = self._given(weights), self._rows(x, self._sizes[0], "x")
        y_bar = self._rows(y_bar, self._sizes[-1], "y_bar", x)
        out = NetworkGradient(np.empty_like(x), np.zeros_like(w))
        self._run("pullback", w, x, threads, y_bar=y_bar, x_bar=out.x, w_bar=out.weights)
        return out

    def gradient(self, x: Any, weights: Any = None) -> np.ndarray:
        """The derivative of the one output by x, (..., inputs)."""
        if self._sizes[-1] != 1:
            self._one_output()
        n = self._sizes[0]
        quick = type(x) is np.ndarray and x.dtype is self._dtype and x.shape[-1:] == (n,)
        g = (x if quick else self._rows(x, n, "x")).copy()
        self._bound_to(weights).gradient(g)  # written over x
        return g

    def gradient_pullback(
        self, x: Any, g_bar: Any, weights: Any = None, *, threads: int | None = None
    ) -> NetworkGradient:
        """Cotangents of x and of the weights, given those of net.gradient(x)."""
        self._one_output()
        w, x = self._given(weights), self._rows(x, self._sizes[0], "x")
        v = self._rows(g_bar, self._sizes[0], "g_bar", x)
        out = NetworkGradient(np.empty_like(x), np.zeros_like(w))
        self._run("gradient_pullback", w, x, threads, v=v, x_bar=out.x, w_bar=out.weights)
        return out

    def hessian_product(self, x: Any, v: Any, weights: Any = None) -> np.ndarray:
        """H v, with H the second derivative of the one output by x."""
        self._one_output()
        w, x = self._given(weights), self._rows(x, self._sizes[0], "x")
        v = self._rows(v, self._sizes[0], "v", x)
        out = np.empty_like(x)
        self._run("gradient_pullback", w, x, None, v=v, x_bar=out)
        return out

    def hessian_product_pullback(
        self, x: Any, v: Any, h_bar: Any, weights: Any = None, *, threads: int | None = None
    ) -> NetworkGradient:
        """Cotangents of x, v and the weights, given those of net.hessian_product(x, v)."""
        self._one_output()
        w, x = self._given(weights), self._rows(x, self._sizes[0], "x")
        v, u = (self._rows(a, self._sizes[0], n, x) for a, n in ((v, "v"), (h_bar, "h_bar")))
        out = NetworkGradient(np.empty_like(x), np.zeros_like(w), np.empty_like(x))
        self._run(
            "hessian_product_pullback",
            *(w, x, threads),
            **{"v": v, "u": u, "x_bar": out.x, "v_bar": out.v, "w_bar": out.weights},
        )
        return out

    def _run(self, what: str, w: np.ndarray, x: np.ndarray, threads: int | None, **of: Any) -> None:
        count = 0 if threads is None else as_integer(threads, "threads", 1, 2**16)
        arrays = (of.get(n) for n in ("v", "u", "y_bar", "y", "y_tan", "x_bar", "v_bar", "w_bar"))
        self._call(getattr(_core.MlpCall, what), w, x, *arrays, count)

    def _one_output(self) -> None:
        if self._sizes[-1] != 1:
            raise Error(
                f"a gradient is that of a network with one output; this one has {self._sizes[-1]}"
            )

    def _given(self, weights: Any) -> np.ndarray:
        return self._weights if weights is None else self._checked_weights(weights)

    def _bound_to(self, weights: Any) -> Any:
        if weights is None:
            return self._bound
        return self._bind(self._core, self._checked_weights(weights))

    def _checked_weights(self, value: Any) -> np.ndarray:
        weights = as_numbers(value, self._dtype, "weights")
        if weights.shape != self._weights.shape:
            raise Error(f"weights must have shape {self._weights.shape}; got {weights.shape}")
        getattr(self._core, f"check_weights{self._bits}")(weights)
        return weights

    def _rows(self, value: Any, n: int, what: str, like: np.ndarray | None = None) -> np.ndarray:
        array = as_numbers(value, self._dtype, what)
        if array.ndim == 0 or array.shape[-1] != n:
            raise Error(f"{what} must have shape (..., {n}); got {array.shape}")
        if like is None or array.shape[:-1] == like.shape[:-1]:
            return array
        try:
            full = np.broadcast_to(array, (*like.shape[:-1], n))
        except ValueError:
            raise Error(
                f"{what} must have leading axes like x, {like.shape[:-1]}; got {array.shape[:-1]}"
            ) from None
        return np.ascontiguousarray(full)

    def __repr__(self) -> str:
        sizes = "-".join(str(n) for n in self._sizes)
        return f"<MLP {sizes}, {self._activation}, {self._dtype}: {self._weights.size} weights>"


class GradientTrainer:
    """Adam on the mean square of net.gradient(x) - target, by double back-propagation.

    With x = [q, p] and target = [-p_dot, q_dot] it trains a Hamiltonian on derivatives. The network
    itself stays as it is; `weights` are the trained ones.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> net = cy.networks.MLP((2, 32, 1), seed=0)
    >>> x = np.random.default_rng(0).normal(size=(256, 2))
    >>> trainer = cy.networks.GradientTrainer(net, learning_rate=1e-2)
    >>> losses = [trainer.step(x, x) for _ in range(200)]    # of a quadratic bowl
    >>> losses[-1] < 0.05 * losses[0]
    True
    """

    def __init__(
        self,
        net: MLP,
        learning_rate: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        if not isinstance(net, MLP):
            raise TypeError(f"expected a cycloid.networks.MLP; got {shown(net)}")
        net._one_output()
        rate = as_real(learning_rate, "learning_rate")
        beta1, beta2 = (as_real(b, "betas") for b in betas)
        if not (0 <= beta1 < 1 and 0 <= beta2 < 1):
            raise Error(f"betas must lie in [0, 1); got {betas}")
        make = getattr(_core, f"GradientFit{net._bits}")
        self._net = net
        self._core = make(
            *(net._core, net._weights, rate, beta1, beta2),
            *(as_real(epsilon, "epsilon"), as_real(weight_decay, "weight_decay")),
        )

    def step(self, x: Any, target: Any, *, threads: int | None = None) -> float:
        """One step on rows (..., inputs); the loss before it."""
        net = self._net
        x = net._rows(x, net._sizes[0], "x")
        target = net._rows(target, net._sizes[0], "target", x)
        return self._core.step(x, target, 0 if threads is None else threads)

    @property
    def weights(self) -> np.ndarray:
        """The trained weights, flat."""
        return self._core.weights()

    def __repr__(self) -> str:
        return f"<GradientTrainer of {self._net!r}>"
