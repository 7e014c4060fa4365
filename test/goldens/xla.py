"""Peak memory that XLA plans (CPU) for the programs of xla.test.ts: argument + output - alias + temp.

Run: python3 -m venv v && v/bin/pip install "jax[cpu]" && v/bin/python -P test/goldens/xla.py > test/goldens/xla.json
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


def with_momentum(loss):
    def step(p, m, *rest):
        value, g = jax.value_and_grad(loss)(p, *rest)
        m = [a * 0.9 + b for a, b in zip(m, g)]
        return [a - 0.05 * b for a, b in zip(p, m)], m, value

    return step


def conv(x, w, stride=1):
    return lax.conv(x, w, (stride, stride), "SAME")


def gru(p, x, y):
    wx, wh, wo = p

    def cell(h, one):
        a, b = jnp.split(one @ wx, 3, -1), jnp.split(h @ wh, 3, -1)
        r, z = jax.nn.sigmoid(a[0] + b[0]), jax.nn.sigmoid(a[1] + b[1])
        n = jnp.tanh(a[2] + r * b[2])
        h = n + z * (h - n)
        return h, h

    _, hs = lax.scan(cell, jnp.zeros((64, 128)), x)
    return jnp.square(hs @ wo - y).mean()


def conv_net(p, x, y):
    h = jax.nn.relu(conv(x, p[0], 2))
    h = jax.nn.relu(conv(h, p[1], 2))
    h = jax.nn.relu(conv(h, p[2]))
    return -(jax.nn.log_softmax(h.mean((2, 3)) @ p[3]) * y).sum(1).mean()


def unet(p, x, y):
    h1 = jax.nn.relu(conv(x, p[0]))
    h2 = jax.nn.relu(conv(jax.nn.relu(conv(h1, p[1], 2)), p[2]))
    n, c, h, w = h2.shape
    up = jnp.broadcast_to(h2[:, :, :, None, :, None], (n, c, h, 2, w, 2)).reshape(n, c, 2 * h, 2 * w)
    return jnp.square(conv(jax.nn.relu(conv(jnp.concatenate([up, h1], 1), p[3])), p[4]) - y).mean()


def batch_norm(x, scale, shift):
    c = x - x.mean((0, 2, 3), keepdims=True)
    v = (c * c).mean((0, 2, 3), keepdims=True)
    return c / jnp.sqrt(v + 1e-5) * scale.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, 1)


def resnet(p, x, y):
    w0, w1, g1, b1, w2, g2, b2, wo = p
    h = jax.nn.relu(conv(x, w0))
    h1 = jax.nn.relu(batch_norm(conv(h, w1), g1, b1))
    h2 = jax.nn.relu(h + batch_norm(conv(h1, w2), g2, b2))
    return -(jax.nn.log_softmax(h2.mean((2, 3)) @ wo) * y).sum(1).mean()


def pooled(p, x, y):
    def pool(h):
        return lax.reduce_window(h, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    h = pool(jax.nn.relu(conv(pool(jax.nn.relu(conv(x, p[0]))), p[1])))
    return -(jax.nn.log_softmax(h.reshape(32, -1) @ p[2]) * y).sum(1).mean()


def q_learning(p, target, m, s, action, reward, s2, going):
    def value_of(q, x):
        return jax.nn.relu(jax.nn.relu(x @ q[0]) @ q[1]) @ q[2]

    def loss(q):
        wanted = reward + value_of(target, s2).max(1) * 0.99 * going
        return jnp.square((value_of(q, s) * jax.nn.one_hot(action, 16)).sum(1) - lax.stop_gradient(wanted)).mean()

    value, g = jax.value_and_grad(loss)(p)
    m = [a * 0.9 + b for a, b in zip(m, g)]
    p = [a - 1e-3 * b for a, b in zip(p, m)]
    return p, [a * 0.995 + b * 0.005 for a, b in zip(target, p)], m, value


def diffusion(p, average, m, v, x, noise, level):
    def loss(q):
        h = jax.nn.silu((x * jnp.sqrt(1 - level) + noise * jnp.sqrt(level)) @ q[0])
        return jnp.square((jax.nn.silu(h @ q[1]) + h) @ q[2] - noise).mean()

    value, g = jax.value_and_grad(loss)(p)
    m = [a * 0.9 + b * 0.1 for a, b in zip(m, g)]
    v = [a * 0.999 + b * b * 0.001 for a, b in zip(v, g)]
    p = [a - b / (jnp.sqrt(c) + 1e-8) * 1e-3 for a, b, c in zip(p, m, v)]
    return p, [a * 0.999 + b * 0.001 for a, b in zip(average, p)], m, v, value


def language(embedding, w, out, tokens, following):
    def loss(q):
        logits = jnp.tanh(jnp.take(q[0], tokens, 0) @ q[1]) @ q[2]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), following.reshape(-1, 1), 1).mean()

    value, g = jax.value_and_grad(loss)([embedding, w, out])
    return [a - 0.1 * b for a, b in zip([embedding, w, out], g)], value


def shallow_water(h, u, v):
    def across(a):
        return (jnp.roll(a, -1, 1) - jnp.roll(a, 1, 1)) * 0.5

    def down(a):
        return (jnp.roll(a, -1, 0) - jnp.roll(a, 1, 0)) * 0.5

    def step(_, state):
        h, u, v = state
        u, v = u - across(h) * 0.1, v - down(h) * 0.1
        return h - (across(u) + down(v)) * 0.1, u, v

    return lax.fori_loop(0, 100, step, (h, u, v))


def jacobi(x, b):
    def around(a):
        return jnp.roll(a, 1, 0) + jnp.roll(a, -1, 0) + jnp.roll(a, 1, 1) + jnp.roll(a, -1, 1)

    return lax.fori_loop(0, 50, lambda _, one: (around(one) + b) * 0.25, x)


def bodies(p, v, m):
    apart = p[None] - p[:, None]
    squared = (apart * apart).sum(-1) + 1e-3
    v = v + (apart * (m / (squared * jnp.sqrt(squared)))[..., None]).sum(1) * 0.01
    return p + v * 0.01, v


def whole(*dims):
    return jax.ShapeDtypeStruct(dims, jnp.int32)


layers = [shape(784, 512), shape(512), shape(512, 512), shape(512), shape(512, 10), shape(10)]
big = shape(1024, 1024)
weights = [shape(256, 768), shape(256, 256), shape(256, 1024), shape(1024, 256)]
gates = [shape(64, 384), shape(128, 384), shape(128, 32)]
kernels = [shape(16, 1, 3, 3), shape(32, 16, 3, 3), shape(64, 32, 3, 3), shape(64, 10)]
skipped = [shape(16, 3, 3, 3), shape(32, 16, 3, 3), shape(32, 32, 3, 3), shape(16, 48, 3, 3), shape(3, 16, 3, 3)]
normed = [shape(32, 3, 3, 3), *[shape(32, 32, 3, 3), shape(32), shape(32)] * 2, shape(32, 10)]
pools = [shape(16, 1, 3, 3), shape(32, 16, 3, 3), shape(1568, 10)]
net = [shape(64, 512), shape(512, 512), shape(512, 16)]
denoiser = [shape(256, 512), shape(512, 512), shape(512, 256)]
field = shape(512, 512)
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
    "gru, donated": (with_momentum(gru), (gates, gates, shape(32, 64, 64), shape(32, 64, 32)), (0, 1)),
    "conv net, donated": (with_momentum(conv_net), (kernels, kernels, shape(64, 1, 28, 28), shape(64, 10)), (0, 1)),
    "u-net, donated": (with_momentum(unet), (skipped, skipped, shape(8, 3, 32, 32), shape(8, 3, 32, 32)), (0, 1)),
    "resnet block, donated": (with_momentum(resnet), (normed, normed, shape(16, 3, 24, 24), shape(16, 10)), (0, 1)),
    "max pooling, donated": (with_momentum(pooled), (pools, pools, shape(32, 1, 28, 28), shape(32, 10)), (0, 1)),
    "q-learning, donated": (
        q_learning,
        (net, net, net, shape(256, 64), whole(256), shape(256), shape(256, 64), shape(256)),
        (0, 1, 2),
    ),
    "diffusion, donated": (
        diffusion,
        (denoiser, denoiser, denoiser, denoiser, shape(256, 256), shape(256, 256), shape(256, 1)),
        (0, 1, 2, 3),
    ),
    "language model, donated": (
        language,
        (shape(2048, 128), shape(128, 128), shape(128, 2048), whole(1024), whole(1024)),
        (0, 1, 2),
    ),
    "shallow water, donated": (shallow_water, (field, field, field), (0, 1, 2)),
    "jacobi, donated": (jacobi, (field, field), (0,)),
    "all pairs of bodies, donated": (bodies, (shape(1024, 3), shape(1024, 3), shape(1, 1024)), (0, 1)),
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
