"""Peak memory that XLA plans (CPU) for the programs of xla.test.ts: argument + output - alias + temp.

Run: python3 -m venv v && v/bin/pip install "jax[cpu]" && v/bin/python test/goldens/xla.py > test/goldens/xla.json
"""
import json
import jax
import jax.numpy as jnp
from jax import lax

F = jnp.float32


def shape(*dims):
    return jax.ShapeDtypeStruct(dims, F)


def norm(x):
    c = x - x.mean(-1, keepdims=True)
    return c / jnp.sqrt((c * c).mean(-1, keepdims=True) + 1e-5)


def forward(p, x):
    h = jnp.maximum(x @ p[0] + p[1], 0)
    h = jnp.maximum(h @ p[2] + p[3], 0)
    return h @ p[4] + p[5]


def loss(p, x, y):
    z = forward(p, x)
    z = z - lax.stop_gradient(z.max(-1, keepdims=True))
    return -((z - jnp.log(jnp.exp(z).sum(-1, keepdims=True))) * y).sum(1).mean()


def mlp_step(p, m, x, y):
    value, g = jax.value_and_grad(loss)(p, x, y)
    m = [a * 0.9 + b for a, b in zip(m, g)]
    return [a - 0.05 * b for a, b in zip(p, m)], m, value


def adamw(p, m, v, g):
    m = m * 0.9 + g * 0.1
    v = v * 0.999 + g * g * 0.001
    return p - 0.001 * (m / (jnp.sqrt(v) + 1e-8) + 0.01 * p), m, v


def block(x, qkv, out, up, down):
    q, k, v = (norm(x) @ qkv).reshape(128, 3, 4, 64).transpose(1, 2, 0, 3)
    a = jax.nn.softmax(q @ k.transpose(0, 2, 1) / 8, -1) @ v
    h = x + a.transpose(1, 0, 2).reshape(128, 256) @ out
    return h + jax.nn.gelu(norm(h) @ up, approximate=False) @ down


def chain(x, w):
    for _ in range(16):
        x = x @ w
    return x


def newton(x):
    for _ in range(50):
        x = 0.5 * (x + 1 / x)
    return x


def heat(x):
    for _ in range(10):
        p = jnp.pad(x, 1)
        x = x + 0.1 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * x)
    return x


def scanned(w, x):
    return lax.scan(lambda h, _: (jnp.tanh(h @ w), h.sum()), x, None, length=20)


layers = [shape(784, 512), shape(512), shape(512, 512), shape(512), shape(512, 10), shape(10)]
big = shape(1024, 1024)
weights = [shape(256, 768), shape(256, 256), shape(256, 1024), shape(1024, 256)]
programs = {
    "mlp step": (mlp_step, (layers, layers, shape(128, 784), shape(128, 10)), ()),
    "mlp step, donated": (mlp_step, (layers, layers, shape(128, 784), shape(128, 10)), (0, 1)),
    "mlp forward": (forward, (layers, shape(128, 784)), ()),
    "adamw": (adamw, (big, big, big, big), ()),
    "adamw, donated": (adamw, (big, big, big, big), (0, 1, 2)),
    "transformer block": (block, (shape(128, 256), *weights), ()),
    "16 products": (chain, (shape(256, 256), shape(256, 256)), ()),
    "newton, donated": (newton, (big,), (0,)),
    "heat": (heat, (big,), ()),
    "softmax": (lambda x: jax.nn.softmax(x, -1), (big,), ()),
    "layer norm, donated": (norm, (big,), (0,)),
    "scan": (scanned, (shape(256, 256), shape(64, 256)), ()),
}

result = {}
for name, (f, arguments, donated) in programs.items():
    found = jax.jit(f, donate_argnums=donated).lower(*arguments).compile().memory_analysis()
    result[name] = {
        "argumentBytes": found.argument_size_in_bytes,
        "outputBytes": found.output_size_in_bytes,
        "aliasBytes": found.alias_size_in_bytes,
        "tempBytes": found.temp_size_in_bytes,
        "peakBytes": found.argument_size_in_bytes + found.output_size_in_bytes - found.alias_size_in_bytes + found.temp_size_in_bytes,
    }
print(json.dumps({"jax": jax.__version__, "platform": "cpu", "programs": result}, indent=2))
