"""Starts `portico demo` of an earlier build, has clients use it, kills it, and writes what its
store then holds as SQL: fill.py PROGRAM FOLDER OUTPUT [--batch]"""
import json, os, re, signal, sqlite3, subprocess, sys, time, urllib.request, urllib.error

program, folder, output = sys.argv[1:4]
batch = "--batch" in sys.argv  # its answers are most of the file
port = 18000 + os.getpid() % 1000 * 2
url, admin = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port+1}"
log = open(folder + ".log", "wb")
demo = subprocess.Popen([program, "demo", "--listen", url[7:], "--admin", admin[7:], "--data", folder], stdout=log, stderr=log)

def send(method, path, body=None, base=url, **headers):
    data = None if body is None else json.dumps(body).encode()
    h = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
    try:
        with urllib.request.urlopen(urllib.request.Request(base + path, data, h, method=method), timeout=30) as a:
            status, text = a.status, a.read()
    except urllib.error.HTTPError as e:
        status, text = e.code, e.read()
    print(status, method, path, "" if status < 300 else text[:300].decode())
    return status, text

try:
    for _ in range(200):
        try:
            if urllib.request.urlopen(admin + "/readyz", timeout=2).status == 200: break
        except Exception: time.sleep(0.2)
    S = "/subscriptions/00000000-0000-0000-0000-000000000001"
    G, V = "?api-version=2021-04-01", "?api-version=2024-01-01"
    vm = lambda g, n: f"{S}/resourceGroups/{g}/providers/Contoso.Compute/virtualMachines/{n}{V}"
    send("POST", S + "/providers/Contoso.Insight/register" + G)
    for g, tags in {"Kept": {"Stage": "test"}, "other": {}, "dying": {}, "gone": {}}.items():
        send("PUT", f"{S}/resourceGroups/{g}{G}", {"location": "westus", "tags": tags})
    for i, region in enumerate(["westus", "eastus", "northeurope"]):
        send("PUT", vm("Kept", f"VM-{i}"), {"location": region, "tags": {"Cost": str(i), "owner": "ann"}, "properties": {"size": "small"}})
    send("PUT", f"{S}/resourceGroups/Kept/providers/Contoso.Compute/virtualMachines/VM-1/disks/d{V}", {"location": "eastus", "properties": {}})
    send("PUT", f"{S}/resourceGroups/other/providers/Contoso.Insight/workspaces/w{V}", {"location": "eastus", "properties": {}})
    send("PATCH", vm("Kept", "vm-0"), {"tags": {"Cost": "changed", "owner": "bob"}})
    send("PUT", vm("Kept", "brief"), {"location": "westus", "properties": {}})
    send("DELETE", vm("Kept", "brief"))
    send("DELETE", f"{S}/resourceGroups/gone{G}")
    send("PUT", f"{S}/resourceGroups/Kept/providers/Microsoft.Authorization/locks/l?api-version=2020-05-01", {"properties": {"level": "CanNotDelete", "notes": "why"}})
    send("PUT", f"{S}/tagNames/cost{G}")
    send("PUT", f"{S}/tagNames/cost/tagValues/low{G}")
    role = "b24988ac-6180-42a0-ab88-20f7382dd24c"
    send("PUT", f"{S}/resourceGroups/Kept/providers/Microsoft.Authorization/roleAssignments/11111111-1111-1111-1111-111111111111?api-version=2022-04-01",
         {"properties": {"roleDefinitionId": f"{S}/providers/Microsoft.Authorization/roleDefinitions/{role}", "principalId": "22222222-2222-2222-2222-222222222222", "principalType": "User"}})
    send("PUT", "/admin/subscriptions/00000000-0000-0000-0000-000000000002", {"tenantId": "00000000-0000-0000-0000-0000000000bb", "displayName": "Second", "state": "Warned"}, admin)
    send("PUT", vm("Kept", "slow"), {"location": "westus", "properties": {}}, X_Contoso_Async="azure-async", X_Contoso_Duration="24h")
    # A deletion that waits for its provider, and a write that nobody answers.
    endpoint = re.search(r'westus: \["(http://[^"]+)"\]', open(folder + "/portico.yaml").read()).group(1)
    send("PUT", vm("dying", "stays"), {"location": "westus", "properties": {}})
    send("POST", "/contoso/faults", {"method": "DELETE", "pathContains": "/stays", "fault": "status=503", "count": -1}, endpoint)
    send("POST", "/contoso/faults", {"method": "PUT", "pathContains": "/unheard", "fault": "status=500", "count": 1}, endpoint)
    send("PUT", vm("Kept", "unheard"), {"location": "westus", "properties": {}})
    send("DELETE", f"{S}/resourceGroups/dying{G}")
    if batch: send("POST", "/batch?api-version=2020-06-01", {"requests": [{"httpMethod": "GET", "name": str(i), "relativeUrl": S + "/resourceGroups/Kept" + G} for i in range(21)]})
    time.sleep(3)
finally:
    demo.send_signal(signal.SIGKILL)
    demo.wait()

db = sqlite3.connect(folder + "/portico.db")
with open(output, "w") as out:
    for kind, name, text in db.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name <> 'schema_versions' ORDER BY type = 'index', name"):
        if kind == "table": text = re.sub(r"\s+", " ", text)
        out.write(text + ";\n")
    versions = [v for v, in db.execute("SELECT version_id FROM schema_versions WHERE version_id > 0 ORDER BY id")]
    out.write("-- applied: " + " ".join(map(str, versions)) + "\n")
    for name, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'schema_versions' ORDER BY name").fetchall():
        columns = [c[1] for c in db.execute(f"PRAGMA table_info({name})")]
        rows = db.execute("SELECT " + ", ".join(f"quote({c})" for c in columns) + f" FROM {name} ORDER BY 1, 2").fetchall()
        for row in rows:
            assert not any(";\n" in v for v in row), name
            out.write(f"INSERT INTO {name} VALUES ({', '.join(row)});\n")
    if os.path.exists(folder + "/portico.db.key"):
        out.write("-- key: " + open(folder + "/portico.db.key").read())
print({n: db.execute(f"SELECT COUNT(*) FROM {n}").fetchone()[0] for n, in db.execute("SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name").fetchall()})
