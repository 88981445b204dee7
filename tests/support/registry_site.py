"""Fills a directory with a package called "thing" as npm, pip, cargo and go want to
find it on a static web server, and an index for cargo.

    registry_site.py DIRECTORY INDEX URL
"""
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile

site, index, url = sys.argv[1:4]


def put(path, data):
    path = os.path.join(site, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def tar(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as t:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            t.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, text in files.items():
            z.writestr(name, text)
    return out.getvalue()


# npm
package = {"name": "thing", "version": "1.0.0", "main": "index.js"}
put("files/thing-1.0.0.tgz",
    tar({"package/package.json": json.dumps(package),
         "package/index.js": "module.exports = 'npm thing'\n"}))
put("npm/thing",
    json.dumps({"name": "thing", "dist-tags": {"latest": "1.0.0"},
                "versions": {"1.0.0": dict(package, dist={
                    "tarball": url + "/files/thing-1.0.0.tgz"})}}))

# pip
put("simple/thing/thing-1.0.0-py3-none-any.whl",
    zipped({"thing.py": "name = 'pip thing'\n",
            "thing-1.0.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: thing\nVersion: 1.0.0\n",
            "thing-1.0.0.dist-info/WHEEL":
                "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "thing-1.0.0.dist-info/RECORD": "thing.py,,\n"}))

# cargo: an index in Git, the crate on the server
crate = tar({"thing-1.0.0/Cargo.toml":
             "[package]\nname = \"thing\"\nversion = \"1.0.0\"\nedition = \"2018\"\n",
             "thing-1.0.0/src/lib.rs": "pub fn name() -> &'static str { \"cargo thing\" }\n"})
put("crates/thing-1.0.0.crate", crate)
os.makedirs(index + "/th/in")
with open(index + "/config.json", "w") as f:
    json.dump({"dl": url + "/crates/{crate}-{version}.crate"}, f)
with open(index + "/th/in/thing", "w") as f:
    json.dump({"name": "thing", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
               "cksum": hashlib.sha256(crate).hexdigest()}, f)
git = ["git", "-C", index, "-c", "user.name=t", "-c", "user.email=t@example.org"]
for words in (["init", "-q", "-b", "master"], ["add", "."], ["commit", "-q", "-m", "index"]):
    subprocess.run(git + words, check=True)

# go
module = "example.org/thing"
put("go/" + module + "/@v/list", "v1.0.0\n")
put("go/" + module + "/@v/v1.0.0.info", json.dumps({"Version": "v1.0.0", "Time": "2024-01-01T00:00:00Z"}))
put("go/" + module + "/@v/v1.0.0.mod", "module " + module + "\n")
put("go/" + module + "/@v/v1.0.0.zip",
    zipped({module + "@v1.0.0/go.mod": "module " + module + "\n",
            module + "@v1.0.0/thing.go": "package thing\n\nconst Name = \"go thing\"\n"}))
