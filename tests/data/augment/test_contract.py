"""A contract for all pipelines."""

import pytest
import torch
from augmenting import HEIGHT, IMAGENET, WIDTH, make_images, seeded
from torchvision.transforms.v2 import functional as F

from dml import discovery
from dml.data.augment import build

PIPELINES = discovery.names("dml.data.augment")


@pytest.mark.parametrize("name", PIPELINES)
class TestContract:
    @pytest.mark.parametrize("training", [True, False])
    @pytest.mark.parametrize(("given", "channels", "got"), [(1, 3, 3), (3, 1, 1), (1, None, 1), (3, 3, 3), (1, 1, 1)])
    def test_shape_and_type(self, name, training, given, channels, got):
        images = make_images(channels=given)
        before = images.clone()
        pipeline = build(name, channels=channels)
        result = pipeline(images, training=training, generator=seeded())
        assert result.dtype == torch.float32
        side = pipeline.image_size
        assert tuple(result.shape) == (2, got, *((HEIGHT, WIDTH) if side is None else (side, side)))
        assert result.isfinite().all()
        assert torch.equal(images, before)

    def test_values_are_on_the_scale_of_the_statistics(self, name):
        images = make_images()
        plain = build(name, normalization="none")(images, True, seeded())
        assert plain.min() >= -1e-6
        assert plain.max() <= 1 + 1e-6
        for normalization in ("imagenet", {"mean": IMAGENET[0], "std": IMAGENET[1]}):
            result = build(name, normalization=normalization)(images, True, seeded())
            torch.testing.assert_close(result, F.normalize(plain, *IMAGENET), atol=1e-5, rtol=1e-5)

    def test_one_generator_decides_and_the_global_one_does_not(self, name):
        images = make_images()
        pipeline = build(name)
        torch.manual_seed(1)
        state = torch.get_rng_state()
        one = pipeline(images, True, seeded(5))
        assert torch.equal(torch.get_rng_state(), state)
        torch.manual_seed(2)
        assert torch.equal(pipeline(images, True, seeded(5)), one)

    def test_evaluation_is_not_random(self, name):
        images = make_images()
        pipeline = build(name)
        assert torch.equal(pipeline(images, False, seeded(1)), pipeline(images, False, None))

    def test_in_evaluation_each_image_is_independent_of_the_others(self, name):
        images = make_images()
        pipeline = build(name)
        torch.testing.assert_close(pipeline(images, False, None)[1:2], pipeline(images[1:2], False, None))

    def test_storage_does_not_matter(self, name):
        images = make_images()
        interleaved = images.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
        pipeline = build(name)
        torch.testing.assert_close(pipeline(interleaved, True, seeded()), pipeline(images, True, seeded()))

    @pytest.mark.gpu
    @pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    def test_gpu_and_cpu_agree(self, name):
        images = make_images()
        pipeline = build(name)
        here, there = pipeline(images, True, seeded(3)), pipeline(images.cuda(), True, seeded(3))
        torch.testing.assert_close(there.cpu(), here, atol=2e-2, rtol=0)
        own = torch.Generator("cuda").manual_seed(0)
        assert pipeline(images.cuda(), True, own).device.type == "cuda"
