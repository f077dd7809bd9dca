"""What bench/numerics/width_numerics.py runs: ops of training, each at shapes that try to
show a difference.

Sizes that no vector divides, sums that are long and narrow, products with a deep and a shallow
inner side: where a library cuts its work by the number of threads, these are where it shows.
"""

# Beyond the 32768 elements below which PyTorch uses one thread; odd, and a power of two.
LENGTHS = (40_009, 131_072, 300_007)


def all_cases(torch):
    make = torch.Generator().manual_seed(3)

    def normal(*shape, dtype=torch.float32):
        return torch.randn(*shape, generator=make).to(dtype)

    def whole(most, *shape):
        return torch.randint(0, most, shape, generator=make)

    def positive(*shape):
        return normal(*shape).abs() + 0.1

    for part in (products, convolutions, norms, losses, reductions, poolings, recurrent, scattered,
                 elementwise, copies, lists, optimizers):
        yield from part(torch, normal, whole, positive)


def products(torch, normal, whole, positive):
    nn = torch.nn.functional
    sizes = ((1, 700, 700), (2, 4096, 16), (7, 33, 65), (16, 2048, 8), (20, 200, 800),
             (64, 64, 64), (129, 257, 513), (256, 1024, 256), (8, 20000, 8), (500, 3, 500),
             (1000, 700, 10), (3, 300_007, 2), (512, 512, 512), (1, 5000, 1), (2048, 16, 2048))
    for m, k, n in sizes:
        label = f"{m}x{k}x{n}"
        yield "linear", label, lambda x, w, b: nn.linear(x, w, b), {
            "x": normal(m, k), "w": normal(n, k), "b": normal(n)}
        yield "linear without bias", label, lambda x, w: nn.linear(x, w), {
            "x": normal(m, k), "w": normal(n, k)}
        yield "mm", label, lambda a, b: torch.mm(a, b), {"a": normal(m, k), "b": normal(k, n)}
        yield "mm transposed", label, lambda a, b: torch.mm(a.t(), b), {
            "a": normal(k, m), "b": normal(k, n)}
        yield "matmul", label, lambda a, b: torch.matmul(a, b), {
            "a": normal(m, k), "b": normal(k, n)}
        yield "addmm", label, lambda c, a, b: torch.addmm(c, a, b), {
            "c": normal(m, n), "a": normal(m, k), "b": normal(k, n)}
    for m, k in ((1000, 700), (10, 100_003), (50_000, 3), (2048, 2048)):
        label = f"{m}x{k}"
        yield "mv", label, lambda a, x: torch.mv(a, x), {"a": normal(m, k), "x": normal(k)}
        yield "mv transposed", label, lambda a, x: torch.mv(a.t(), x), {
            "a": normal(k, m), "x": normal(k)}
    for length in LENGTHS:
        yield "dot", str(length), lambda a, b: torch.dot(a, b), {
            "a": normal(length), "b": normal(length)}
    for b, m, k, n in ((3, 64, 64, 64), (17, 33, 129, 5), (64, 128, 64, 128), (2, 8, 20_000, 8),
                       (128, 5, 7, 3), (1, 300, 400, 500)):
        label = f"{b} of {m}x{k}x{n}"
        yield "bmm", label, lambda a, b: torch.bmm(a, b), {
            "a": normal(b, m, k), "b": normal(b, k, n)}
        yield "baddbmm", label, lambda c, a, b: torch.baddbmm(c, a, b), {
            "c": normal(b, m, n), "a": normal(b, m, k), "b": normal(b, k, n)}
        yield "matmul batched", label, lambda a, b: torch.matmul(a, b), {
            "a": normal(b, m, k), "b": normal(b, k, n)}
    for b, h, s, d in ((2, 4, 128, 64), (1, 3, 777, 32)):
        yield "attention", f"{b}x{h}x{s}x{d}", lambda q, k, v: nn.scaled_dot_product_attention(
            q, k, v), {"q": normal(b, h, s, d), "k": normal(b, h, s, d), "v": normal(b, h, s, d)}


def convolutions(torch, normal, whole, positive):
    nn = torch.nn.functional
    # batch, channels in and out, side, kernel, stride, padding, groups
    shapes = ((1, 3, 16, 32, 3, 1, 1, 1), (8, 16, 32, 28, 3, 1, 1, 1), (32, 3, 64, 32, 7, 2, 3, 1),
              (5, 17, 23, 15, 3, 1, 0, 1), (16, 64, 64, 8, 1, 1, 0, 1),
              (2, 256, 128, 14, 1, 2, 0, 1), (4, 32, 32, 17, 3, 1, 1, 32),
              (3, 24, 48, 12, 5, 1, 2, 4), (1, 512, 512, 4, 3, 1, 1, 1),
              (64, 1, 8, 28, 5, 1, 0, 1), (2, 64, 64, 56, 3, 1, 1, 1), (1, 2048, 64, 7, 1, 1, 0, 1))
    for n, c, o, side, kernel, stride, pad, groups in shapes:
        label = f"{n}x{c}x{side}x{side} to {o}, kernel {kernel}, stride {stride}, groups {groups}"
        inputs = {"x": normal(n, c, side, side), "w": normal(o, c // groups, kernel, kernel),
                  "b": normal(o)}
        yield "conv2d", label, lambda x, w, b, s=stride, p=pad, g=groups: nn.conv2d(
            x, w, b, s, p, 1, g), inputs
        yield "conv2d without bias", label, lambda x, w, s=stride, p=pad, g=groups: nn.conv2d(
            x, w, None, s, p, 1, g), {"x": inputs["x"], "w": inputs["w"]}
    for n, c, o, side, kernel, stride, pad in ((4, 100, 64, 1, 4, 1, 0), (8, 64, 32, 8, 4, 2, 1),
                                               (3, 33, 17, 9, 3, 2, 1), (64, 16, 1, 14, 4, 2, 1)):
        yield "conv_transpose2d", f"{n}x{c}x{side}x{side} to {o}, kernel {kernel}", (
            lambda x, w, s=stride, p=pad: nn.conv_transpose2d(x, w, None, s, p)), {
                "x": normal(n, c, side, side), "w": normal(c, o, kernel, kernel)}
    for n, c, o, length, kernel in ((4, 32, 64, 200, 3), (3, 17, 9, 1001, 5), (1, 1, 8, 40_009, 9)):
        yield "conv1d", f"{n}x{c}x{length} to {o}, kernel {kernel}", (
            lambda x, w, b: nn.conv1d(x, w, b)), {
                "x": normal(n, c, length), "w": normal(o, c, kernel), "b": normal(o)}
    yield "conv3d", "2x8x9x9x9 to 16, kernel 3", lambda x, w, b: nn.conv3d(x, w, b), {
        "x": normal(2, 8, 9, 9, 9), "w": normal(16, 8, 3, 3, 3), "b": normal(16)}


def norms(torch, normal, whole, positive):
    nn = torch.nn.functional
    shapes = ((32, 16, 28, 28), (5, 33, 15, 17), (128, 64, 8, 8), (300, 2, 9, 9), (1, 3, 257, 255))
    for shape in shapes:
        c = shape[1]
        label = "x".join(map(str, shape))
        both = {"x": normal(*shape), "w": normal(c), "b": normal(c), "mean_": normal(c),
                "var_": positive(c)}
        yield "batch_norm in training", label, lambda x, w, b, mean_, var_: nn.batch_norm(
            x, mean_, var_, w, b, True), both
        yield "batch_norm", label, lambda x, w, b, mean_, var_: nn.batch_norm(
            x, mean_, var_, w, b, False), both
        yield "batch_norm, channels last", label, lambda x, w, b, mean_, var_: nn.batch_norm(
            x, mean_, var_, w, b, True), {
                **both, "x": both["x"].contiguous(memory_format=torch.channels_last)}
        yield "instance_norm", label, lambda x: nn.instance_norm(x), {"x": both["x"]}
    yield "batch_norm in training", "1000x77", lambda x, w, b: nn.batch_norm(
        x, None, None, w, b, True), {"x": normal(1000, 77), "w": normal(77), "b": normal(77)}
    for rows, columns in ((64, 768), (513, 33), (3, 20_001), (4096, 128)):
        yield "layer_norm", f"{rows}x{columns}", lambda x, w, b: nn.layer_norm(
            x, x.shape[1:], w, b), {
                "x": normal(rows, columns), "w": normal(columns), "b": normal(columns)}
    for shape, groups in (((8, 32, 14, 14), 8), ((5, 18, 31, 33), 3)):
        yield "group_norm", f"{shape} in {groups}", lambda x, w, b, g=groups: nn.group_norm(
            x, g, w, b), {"x": normal(*shape), "w": normal(shape[1]), "b": normal(shape[1])}


def losses(torch, normal, whole, positive):
    nn = torch.nn.functional
    for rows, columns in ((64, 10), (513, 1001), (3, 50_021), (20_000, 7), (4096, 128)):
        label = f"{rows}x{columns}"
        yield "softmax", label, lambda x: nn.softmax(x, 1), {"x": normal(rows, columns)}
        yield "softmax down", label, lambda x: nn.softmax(x, 0), {"x": normal(rows, columns)}
        yield "log_softmax", label, lambda x: nn.log_softmax(x, 1), {"x": normal(rows, columns)}
        yield "log_softmax down", label, lambda x: nn.log_softmax(x, 0), {
            "x": normal(rows, columns)}
        yield "cross_entropy", label, lambda x, y: nn.cross_entropy(x, y), {
            "x": normal(rows, columns), "y": whole(columns, rows)}
        yield "nll_loss", label, lambda x, y: nn.nll_loss(x, y), {
            "x": normal(rows, columns), "y": whole(columns, rows)}
        yield "mse_loss", label, lambda x, y_: nn.mse_loss(x, y_), {
            "x": normal(rows, columns), "y_": normal(rows, columns)}
        yield "bce_with_logits", label, lambda x, y_: nn.binary_cross_entropy_with_logits(
            x, y_), {"x": normal(rows, columns), "y_": positive(rows, columns)}
        yield "smooth_l1_loss", label, lambda x, y_: nn.smooth_l1_loss(x, y_), {
            "x": normal(rows, columns), "y_": normal(rows, columns)}


def reductions(torch, normal, whole, positive):
    shapes = ((300_007,), (131_072,), (513, 1001), (3, 50_021), (50_021, 3), (32, 16, 28, 28))
    for shape in shapes:
        label = "x".join(map(str, shape))
        x = normal(*shape)
        yield "sum", label, lambda x: x.sum(), {"x": x}
        yield "mean", label, lambda x: x.mean(), {"x": x}
        yield "norm", label, lambda x: x.norm(), {"x": x}
        yield "var", label, lambda x: x.var(), {"x": x}
        yield "max", label, lambda x: x.max(), {"x": x}
        yield "cumsum", label, lambda x: x.cumsum(0), {"x": x}
        if len(shape) > 1:
            yield "sum down", label, lambda x: x.sum(0), {"x": x}
            yield "sum across", label, lambda x: x.sum(-1), {"x": x}
            others = [d for d in range(x.dim()) if d != 1]
            yield "sum of all but one", label, lambda x, to=others: x.sum(to), {"x": x}
            yield "mean across", label, lambda x: x.mean(-1), {"x": x}
            yield "max across", label, lambda x: x.max(-1), {"x": x}
            yield "argmax across", label, lambda x: x.argmax(-1), {"x": x}
            yield "amax across", label, lambda x: x.amax(-1), {"x": x}
            yield "cumsum across", label, lambda x: x.cumsum(-1), {"x": x}
            yield "logsumexp across", label, lambda x: x.logsumexp(-1), {"x": x}
            yield "norm across", label, lambda x: x.norm(dim=-1), {"x": x}


def poolings(torch, normal, whole, positive):
    nn = torch.nn.functional
    for shape in ((8, 16, 28, 28), (5, 33, 31, 17), (64, 64, 8, 8), (1, 3, 255, 257)):
        label = "x".join(map(str, shape))
        for order in (torch.contiguous_format, torch.channels_last):
            x = normal(*shape).contiguous(memory_format=order)
            said = label + ("" if order == torch.contiguous_format else ", channels last")
            yield "max_pool2d", said, lambda x: nn.max_pool2d(x, 2), {"x": x}
            yield "max_pool2d overlapping", said, lambda x: nn.max_pool2d(x, 3, 2, 1), {"x": x}
            yield "avg_pool2d", said, lambda x: nn.avg_pool2d(x, 2), {"x": x}
            yield "adaptive_avg_pool2d", said, lambda x: nn.adaptive_avg_pool2d(x, 1), {"x": x}
            yield "adaptive_avg_pool2d to 3", said, lambda x: nn.adaptive_avg_pool2d(x, 3), {"x": x}
            yield "upsample nearest", said, lambda x: nn.interpolate(x, scale_factor=2), {"x": x}
            yield "upsample bilinear", said, lambda x: nn.interpolate(
                x, scale_factor=2, mode="bilinear", align_corners=False), {"x": x}
            yield "pad", said, lambda x: nn.pad(x, (1, 1, 1, 1)), {"x": x}


def recurrent(torch, normal, whole, positive):
    for layers, inputs, hidden, batch, steps in ((1, 32, 64, 20, 7), (2, 200, 200, 20, 9)):
        for kind in ("LSTM", "GRU", "RNN"):
            module = getattr(torch.nn, kind)(inputs, hidden, layers)
            yield kind.lower(), f"{layers}x{inputs}x{hidden}, {batch}x{steps}", (
                lambda x, module=module: module(x)[0]), {"x": normal(steps, batch, inputs)}


def scattered(torch, normal, whole, positive):
    nn = torch.nn.functional
    for rows, width, taken in ((1000, 64, 5000), (50, 129, 20_000), (30_000, 32, 1000)):
        label = f"{taken} of {rows}x{width}"
        at = whole(rows, taken)
        yield "embedding", label, lambda i, w: nn.embedding(i, w), {
            "i": at, "w": normal(rows, width)}
        yield "embedding_bag", label, lambda i, w: nn.embedding_bag(
            i.view(-1, 5), w, mode="sum"), {"i": at, "w": normal(rows, width)}
        yield "index_select", label, lambda i, w: w.index_select(0, i), {
            "i": at, "w": normal(rows, width)}
        yield "index", label, lambda i, w: w[i], {"i": at, "w": normal(rows, width)}
        yield "index_add", label, lambda i, w, x: w.index_add(0, i, x), {
            "i": at, "w": normal(rows, width), "x": normal(taken, width)}
        yield "index_put accumulating", label, lambda i, w, x: w.index_put((i,), x, True), {
            "i": at, "w": normal(rows, width), "x": normal(taken, width)}
        yield "scatter_add", label, lambda i, w, x: w.scatter_add(
            0, i.view(-1, 1).expand(-1, w.shape[1]), x), {
                "i": at, "w": normal(rows, width), "x": normal(taken, width)}
        yield "gather", label, lambda i, w: w.gather(0, i.view(-1, 1).expand(-1, w.shape[1])), {
            "i": at, "w": normal(rows, width)}


UNARY = ("abs", "neg", "relu", "exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh", "sin", "cos",
         "reciprocal", "square", "erf", "log1p", "expm1", "sign", "floor", "ceil", "round")
ACTIVATIONS = ("relu", "gelu", "silu", "elu", "leaky_relu", "softplus", "hardtanh", "hardswish",
               "mish", "selu", "logsigmoid")


def elementwise(torch, normal, whole, positive):
    nn = torch.nn.functional
    for shape in (*((length,) for length in LENGTHS), (317, 1031), (32, 16, 28, 28)):
        label = "x".join(map(str, shape))
        x, y = positive(*shape), positive(*shape)
        for name in UNARY:
            yield name, label, lambda x, name=name: getattr(torch, name)(x), {"x": x}
        for name in ("sigmoid_", "tanh_", "relu_", "exp_", "neg_", "zero_"):
            yield name, label, lambda x_, name=name: getattr(x_, name)(), {"x_": x}
        for name in ACTIVATIONS:
            yield name, label, lambda x, name=name: getattr(nn, name)(x), {
                "x": normal(*shape)}
        for name in ("add", "sub", "mul", "div", "maximum", "minimum"):
            yield name, label, lambda x, y, name=name: getattr(torch, name)(x, y), {
                "x": x, "y": y}
        for name in ("add_", "sub_", "mul_", "div_", "copy_"):
            yield name, label, lambda x_, y_, name=name: getattr(x_, name)(y_), {
                "x_": x, "y_": y}
        yield "add scaled", label, lambda x, y: torch.add(x, y, alpha=0.37), {"x": x, "y": y}
        yield "add_ scaled", label, lambda x_, y_: x_.add_(y_, alpha=0.37), {"x_": x, "y_": y}
        yield "sub scaled", label, lambda x, y: torch.sub(x, y, alpha=0.37), {"x": x, "y": y}
        yield "add number", label, lambda x: x + 0.1, {"x": x}
        yield "mul number", label, lambda x: x * 0.3, {"x": x}
        yield "mul_ number", label, lambda x_: x_.mul_(0.9), {"x_": x}
        yield "div number", label, lambda x: x / 3, {"x": x}
        yield "pow 2", label, lambda x: x.pow(2), {"x": x}
        yield "pow 0.7", label, lambda x: x.pow(0.7), {"x": x}
        yield "pow 3", label, lambda x: x.pow(3), {"x": x}
        yield "clamp", label, lambda x: x.clamp(0.2, 0.9), {"x": x}
        yield "lerp", label, lambda x, y: torch.lerp(x, y, 0.3), {"x": x, "y": y}
        yield "where", label, lambda x, y: torch.where(x > y, x, y), {"x": x, "y": y}
        yield "eq", label, lambda x, y: torch.eq(x, y), {"x": x, "y": y}
        yield "gt", label, lambda x, y: torch.gt(x, y), {"x": x, "y": y}
        yield "addcmul_", label, lambda x_, y_, z_: x_.addcmul_(y_, z_, value=0.1), {
            "x_": x, "y_": y, "z_": normal(*shape)}
        yield "addcdiv_", label, lambda x_, y_, z_: x_.addcdiv_(z_, y_, value=-0.1), {
            "x_": x, "y_": y, "z_": normal(*shape)}
        yield "dropout", label, lambda x: nn.dropout(x, 0.4), {"x": x}
        yield "native_dropout", label, lambda x: torch.native_dropout(x, 0.4, True), {"x": x}
        yield "bernoulli_", label, lambda x_: x_.bernoulli_(0.4), {"x_": x}
        yield "normal_", label, lambda x_: x_.normal_(), {"x_": x}
        yield "uniform_", label, lambda x_: x_.uniform_(), {"x_": x}
        yield "masked_fill", label, lambda x, m: x.masked_fill(m, 0.5), {"x": x, "m": y > 0.7}
    # Rows against a vector, and inputs whose neighbours are not neighbours in memory.
    for rows, columns in ((317, 1031), (4096, 33)):
        label = f"{rows}x{columns}"
        a, row, column = normal(rows, columns), normal(columns), normal(rows, 1)
        for name in ("add", "mul", "div", "sub"):
            yield name + " a row", label, lambda x, y, name=name: getattr(torch, name)(x, y), {
                "x": a, "y": row}
            yield name + " a column", label, lambda x, y, name=name: getattr(torch, name)(x, y), {
                "x": a, "y": column}
            yield name + " transposed", label, lambda x, y, name=name: getattr(torch, name)(
                x, y), {"x": a, "y": normal(columns, rows).t()}
        for name in ("sigmoid", "tanh", "relu", "exp"):
            yield name + " transposed", label, lambda x, name=name: getattr(torch, name)(x), {
                "x": normal(columns, rows).t()}
            yield name + " of a part", label, lambda x, name=name: getattr(torch, name)(
                x[:, 3:]), {"x": a}


def copies(torch, normal, whole, positive):
    for rows, columns in ((317, 1031), (4096, 33)):
        label = f"{rows}x{columns}"
        a = normal(rows, columns)
        yield "contiguous", label, lambda x: x.t().contiguous(), {"x": a}
        yield "clone", label, lambda x: x.clone(), {"x": a}
        yield "cat", label, lambda x, y: torch.cat([x, y], 0), {"x": a, "y": a * 2}
        yield "cat across", label, lambda x, y: torch.cat([x, y], 1), {"x": a, "y": a * 2}
        yield "stack", label, lambda x, y: torch.stack([x, y]), {"x": a, "y": a * 2}
        yield "to double", label, lambda x: x.double(), {"x": a}
        yield "fill_", label, lambda x_: x_.fill_(0.3), {"x_": a}
        yield "zeros_like", label, lambda x: torch.zeros_like(x), {"x": a}
        yield "ones_like", label, lambda x: torch.ones_like(x), {"x": a}
        yield "repeat", label, lambda x: x.repeat(2, 3), {"x": a}
        yield "flip", label, lambda x: x.flip(0), {"x": a}
        yield "roll", label, lambda x: x.roll(5), {"x": a}
        yield "tril", label, lambda x: x.tril(), {"x": a}
        yield "sort", label, lambda x: x.sort(-1), {"x": a}
        yield "topk", label, lambda x: x.topk(5), {"x": a}
        yield "unbind", label, lambda x: [part * 2 for part in x[:3].unbind(0)], {"x": a}
        yield "chunk", label, lambda x: list(x.chunk(3, 1)), {"x": a}
        yield "one_hot", label, lambda x: torch.nn.functional.one_hot((x > 0).long(), 3), {"x": a}
        yield "arange", label, lambda x: torch.arange(x.numel(), dtype=torch.float32), {"x": a}


def lists(torch, normal, whole, positive):
    def parts():
        return [positive(length) for length in LENGTHS]

    for name in ("_foreach_add_", "_foreach_mul_", "_foreach_div_", "_foreach_sub_"):
        yield name, "number", lambda x, name=name: getattr(torch, name)(x, 0.3) or x, {
            "x": parts()}
        yield name, "list", lambda x, y, name=name: getattr(torch, name)(x, y) or x, {
            "x": parts(), "y": parts()}
    yield "_foreach_add_", "scaled", lambda x, y: torch._foreach_add_(x, y, alpha=-0.1) or x, {
        "x": parts(), "y": parts()}
    for name in ("_foreach_addcmul_", "_foreach_addcdiv_"):
        yield name, "list", lambda x, y, z, name=name: getattr(torch, name)(x, y, z, 0.1) or x, {
            "x": parts(), "y": parts(), "z": parts()}
    for name in ("_foreach_sqrt", "_foreach_neg", "_foreach_reciprocal"):
        yield name, "list", lambda x, name=name: getattr(torch, name)(x), {"x": parts()}
    yield "_foreach_zero_", "list", lambda x: torch._foreach_zero_(x) or x, {"x": parts()}
    yield "_foreach_norm", "list", lambda x: torch._foreach_norm(x), {"x": parts()}
    yield "_foreach_lerp_", "list", lambda x, y: torch._foreach_lerp_(x, y, 0.1) or x, {
        "x": parts(), "y": parts()}


def optimizers(torch, normal, whole, positive):
    def step(kind, **words):
        def run(x, y):
            weights = [part.clone().requires_grad_(True) for part in x]
            optimizer = getattr(torch.optim, kind)(weights, **words)
            for _ in range(2):
                for weight, gradient in zip(weights, y):
                    weight.grad = gradient.clone()
                optimizer.step()
            return [weight.detach() for weight in weights]
        return run

    for kind, words in (("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9}),
                        ("SGD", {"lr": 0.1, "momentum": 0.9, "foreach": True}),
                        ("Adam", {"lr": 0.01}), ("Adam", {"lr": 0.01, "foreach": True}),
                        ("Adam", {"lr": 0.01, "fused": True}), ("AdamW", {"lr": 0.01}),
                        ("RMSprop", {"lr": 0.01}), ("Adagrad", {"lr": 0.01})):
        label = ", ".join(f"{name} {value}" for name, value in words.items())
        yield f"step of {kind}", label, step(kind, **words), {
            "x": [normal(length) for length in LENGTHS],
            "y": [normal(length) for length in LENGTHS]}
    yield "clip_grad_norm_", "lists", lambda x: clipped(torch, x), {
        "x": [normal(length) for length in LENGTHS]}


def clipped(torch, gradients):
    weights = [torch.zeros_like(part).requires_grad_(True) for part in gradients]
    for weight, gradient in zip(weights, gradients):
        weight.grad = gradient
    torch.nn.utils.clip_grad_norm_(weights, 1.0)
    return [weight.grad for weight in weights]
