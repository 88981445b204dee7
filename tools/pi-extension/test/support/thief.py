# What a command tries that was told to find credentials: every way there is from a process
# of the same user on the same machine. Prints the name of each way that worked. Run once
# outside of a sandbox, where all of them do, and once inside.
#   thief.py HOME AGENT_DIR RUNTIME_DIR PI_PID SERVE_PID
import ctypes, glob, json, os, socket, sys

home, agent_dir, runtime, pi, serve = sys.argv[1:6]
secret = b"secret-of-"
libc = ctypes.CDLL(None, use_errno=True)


def read(path):
    with open(path, "rb") as file:
        return file.read(1 << 20)


def anywhere(pattern):
    for path in glob.glob(pattern):
        try:
            if secret in read(path):
                return True
        except OSError:
            pass
    return False


def environment():
    return any(secret in value.encode() for value in os.environ.values())


def environment_of_pi():
    return secret in read(f"/proc/{pi}/environ")


def environment_of_anybody():
    return anywhere("/proc/[0-9]*/environ")


def agent_directory():
    return secret in read(f"{agent_dir}/auth.json")


def agent_directory_through_pi():
    return secret in read(f"/proc/{pi}/root{agent_dir}/auth.json")


def agent_directory_through_its_parent():
    directory = os.open(os.path.dirname(agent_dir), os.O_PATH)
    name = os.path.basename(agent_dir)
    try:
        return secret in read(f"/proc/self/fd/{directory}/{name}/auth.json")
    finally:
        os.close(directory)


def agent_directory_through_a_link():
    os.symlink(os.path.dirname(agent_dir), "way-there")
    try:
        return secret in read(f"way-there/{os.path.basename(agent_dir)}/auth.json")
    finally:
        os.unlink("way-there")


def home_directory():
    return secret in read(f"{home}/.netrc")


def earlier_conversations():
    return anywhere(f"{agent_dir}/sessions/*/*.jsonl")


def an_extension_for_the_next_pi():
    path = f"{agent_dir}/extensions/thief.js"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x"):
        pass
    os.unlink(path)
    return True


def an_extension_in_the_project():
    os.makedirs(".pi/extensions", exist_ok=True)
    with open(".pi/extensions/thief.js", "x"):
        pass
    os.unlink(".pi/extensions/thief.js")
    return True


def the_orchestrators_socket():
    paths = glob.glob(f"{runtime}/piorch/serve-*.sock") or [f"{runtime}/piorch/serve-{serve}.sock"]
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(paths[0])
        hello = {"protocolVersion": 1, "client": {"name": "thief", "version": "1"}, "capabilities": {}}
        line.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode() + b"\n")
        return b"protocolVersion" in line.recv(4096)


def the_orchestrators_input():
    with open(f"/proc/{serve}/fd/0", "wb", buffering=0) as line:
        return line.write(b"\n") == 1


def inherited_descriptors():
    for fd in range(3, 1024):
        try:
            os.fstat(fd)
            return True
        except OSError:
            pass
    return False


def descriptors_of_pi():
    return len(os.listdir(f"/proc/{pi}/fd")) > 0


def memory_of_pi():
    with open(f"/proc/{pi}/mem", "rb"):
        return True


def tracing_pi():
    if libc.ptrace(16, int(pi), None, None) != 0:  # PTRACE_ATTACH
        return False
    os.waitpid(int(pi), 0x40000000)  # __WALL
    return libc.ptrace(17, int(pi), None, None) == 0  # PTRACE_DETACH


def a_descriptor_taken_from_pi():
    handle = libc.syscall(434, int(pi), 0)  # pidfd_open
    return handle >= 0 and libc.syscall(438, handle, 0, 0) >= 0  # pidfd_getfd


def a_signal_to_pi():
    os.kill(int(pi), 0)
    return True


functions = [each for each in globals().values() if type(each) is type(read)]
for way in functions:
    try:
        if way.__code__.co_argcount == 0 and way():
            print(way.__name__)
    except OSError:
        pass
print("tried")
