"""What scripts/gpu-bundle keeps of packages, and what it finds wrong with what it has kept."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"))
import gpu_bundle as bundle


class Kept(unittest.TestCase):
    def test_headers_libraries_and_licenses_are_kept(self):
        arch = bundle.ARCH
        kept = {
            "./usr/include/caf/all.hpp": "usr/include/caf/all.hpp",
            f"./usr/include/{arch}/openssl/configuration.h": "usr/include/openssl/configuration.h",
            f"./lib/{arch}/libz.so.1": f"usr/lib/{arch}/libz.so.1",
            f"./usr/lib/{arch}/ucx/libuct_cma.so.0.0.0": f"usr/lib/{arch}/ucx/libuct_cma.so.0.0.0",
            f"./usr/lib/{arch}/libgtest.a": f"usr/lib/{arch}/libgtest.a",
            f"./usr/lib/{arch}/cmake/ucx/ucx-config.cmake": f"usr/lib/{arch}/cmake/ucx/ucx-config.cmake",
            "./usr/share/doc/libcaf-dev/copyright": "usr/share/doc/libcaf-dev/copyright",
        }
        for name, place in kept.items():
            self.assertEqual(bundle.kept_as(name), place)
        for name in ("./usr/share/man/man1/ucx.1.gz", "./usr/share/doc/libcaf-dev/changelog.gz", f"./usr/lib/{arch}/pkgconfig/ucx.pc",
                     "./usr/bin/ucx_info", "./etc/ucx/ucx.conf"):
            self.assertIsNone(bundle.kept_as(name))

    def test_of_alternatives_the_first_is_taken(self):
        fields = {"Depends": "libc6 (>= 2.34), libz-dev | zlib1g-dev (>= 1:1), libnuma1:any", "Pre-Depends": "dpkg"}
        self.assertEqual(list(bundle.needs_of(fields)), ["dpkg", "libc6", "libz-dev", "libnuma1"])

    def test_what_is_left_out_is_listed(self):
        names = bundle.listed_packages()
        self.assertIn("libcaf-dev", names)
        self.assertNotIn("libtorch-dev", names)
        self.assertIn("boost/program_options.hpp", bundle.included_boost())


class Checks(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.tree = pathlib.Path(temporary.name)
        self.cmake = self.tree / "usr/lib" / bundle.ARCH / "cmake/ucx"
        self.cmake.mkdir(parents=True)

    def refused(self, check, *arguments):
        with self.assertRaises(SystemExit) as end:
            check(self.tree, *arguments)
        return str(end.exception)

    def test_a_fixed_place_in_a_cmake_file(self):
        file = self.cmake / "ucx-targets.cmake"
        file.write_text('set(prefix "/usr")\nset(IMPORTED "${prefix}/lib/libucs.so")\n')
        self.assertIn("ucx-targets.cmake:1 names a fixed place", self.refused(bundle.check_cmake))
        bundle.relocate(self.tree)
        self.assertIn("CMAKE_CURRENT_LIST_DIR", file.read_text())
        bundle.check_cmake(self.tree)

    def test_a_link_into_nothing(self):
        (self.cmake / "libucs.so").symlink_to("libucs.so.0")
        self.assertIn("leads to libucs.so.0, which was not kept", self.refused(bundle.check_links))

        (self.cmake / "libucs.so").unlink()
        (self.cmake / "libc.so").symlink_to("/etc")
        self.assertIn("leads to /etc", self.refused(bundle.check_links))

    def test_links_lead_to_where_their_target_is(self):
        folder = f"usr/lib/{bundle.ARCH}"
        for leads_to in (f"/lib/{bundle.ARCH}/libz.so.1", "libz.so.1", f"../../../lib/{bundle.ARCH}/libz.so.1"):
            self.assertEqual(bundle.link_to(f"./{folder}/libz.so", leads_to, f"{folder}/libz.so"), "libz.so.1")
        self.assertEqual(bundle.link_to("./usr/share/doc/libssl-dev", "libssl3", "usr/share/doc/libssl-dev"), "libssl3")

    def test_a_missing_license(self):
        self.assertIn("libcaf-dev brings no license", self.refused(bundle.check_licenses, ["libcaf-dev"]))

    def test_static_libraries_beside_shared_ones_go(self):
        folder = self.tree / "usr/lib" / bundle.ARCH
        for name in ("libssl.a", "libssl.so", "libgtest.a"):
            (folder / name).touch()
        bundle.drop_static(self.tree)
        self.assertEqual(sorted(file.name for file in folder.glob("lib*")), ["libgtest.a", "libssl.so"])

    def test_the_same_content_is_the_same_file(self):
        (self.cmake / "a.cmake").write_text("a")
        first, second = self.tree.parent / f"{self.tree.name}-1", self.tree.parent / f"{self.tree.name}-2"
        self.addCleanup(first.unlink)
        self.addCleanup(second.unlink)
        bundle.pack(self.tree, first)
        (self.cmake / "a.cmake").touch()
        bundle.pack(self.tree, second)
        self.assertEqual(bundle.sha256(first), bundle.sha256(second))


unittest.main()
