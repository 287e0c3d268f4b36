// Subscriptions, locations, tenants; providers and features and registering for
// them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { FeatureClient } from "@azure/arm-features";
import { SubscriptionClient } from "@azure/arm-resources-subscriptions";
import { collect, credential, generations, groupId, newGroup, open, refused, second, subscription, told, version, watched } from "./stand.mjs";

describe("subscriptions", () => {
  const client = new SubscriptionClient(credential, watched().options);

  test("list and get", async () => {
    const all = await collect(client.subscriptions.list());
    assert.deepEqual(all.map((one) => one.subscriptionId).sort(), [subscription, second].sort());
    const one = await client.subscriptions.get(subscription);
    assert.deepEqual([one.id, one.displayName, one.state], [`/subscriptions/${subscription}`, "Demo", "Enabled"]);
    assert.ok(one.tenantId && one.subscriptionPolicies);
    await refused(client.subscriptions.get("00000000-0000-0000-0000-00000000dead"), 404, "SubscriptionNotFound");
    await refused(client.subscriptions.get("mine"), 400, "InvalidSubscriptionId");
  });

  test("locations", async () => {
    const all = await collect(client.subscriptions.listLocations(subscription, { includeExtendedLocations: true }));
    assert.deepEqual(all.map((location) => location.name).sort(), ["eastus", "northeurope", "westus"]);
    const west = all.find((location) => location.name === "westus");
    assert.deepEqual([west.id, west.displayName, west.type], [`/subscriptions/${subscription}/locations/westus`, "West US", "Region"]);
    assert.deepEqual(west.metadata.pairedRegion.map((pair) => pair.name), ["eastus"]);
  });

  test("tenants and reserved names", async () => {
    assert.equal((await collect(client.tenants.list())).length, 1);
    const free = await client.checkResourceName({ resourceNameDefinition: { name: "machine", type: "Contoso.Compute/virtualMachines" } });
    assert.equal(free.status, "Allowed");
  });
});

describe("features", () => {
  const client = new FeatureClient(credential, subscription, watched().options).features;

  test("list, register, get, unregister", async () => {
    const states = async () => (await collect(client.list("Contoso.Compute"))).map((feature) => [feature.name, feature.properties.state]);
    assert.deepEqual(await states(), [["Contoso.Compute/bigMachines", "NotRegistered"], ["Contoso.Compute/tinyMachines", "NotRegistered"]]);
    assert.equal((await client.register("Contoso.Compute", "bigmachines")).properties.state, "Registered");
    assert.equal((await client.get("Contoso.Compute", "bigMachines")).properties.state, "Registered");
    assert.equal((await collect(client.listAll())).filter((feature) => feature.properties.state === "Registered").length, 1);
    await client.unregister("Contoso.Compute", "bigMachines");
    assert.deepEqual((await states())[0], ["Contoso.Compute/bigMachines", "NotRegistered"]);
    await refused(client.get("Contoso.Compute", "none"), 404, "FeatureNotFound");
  });
});

for (const generation of generations) {
  describe(`providers, ${generation.name}`, () => {
    const { client, calls } = open(generation);

    test("list and get", async () => {
      const names = (await collect(client.providers.list({ expand: "metadata" }))).map((provider) => provider.namespace);
      assert.ok(["Contoso.Compute", "Contoso.Insight"].every((name) => names.includes(name)), `${names}`);
      const compute = await client.providers.get("contoso.COMPUTE");
      assert.deepEqual([compute.id, compute.registrationState], [`/subscriptions/${subscription}/providers/Contoso.Compute`, "Registered"]);
      const machines = compute.resourceTypes.find((type) => type.resourceType === "virtualMachines");
      assert.deepEqual([...machines.locations].sort(), ["East US", "North Europe", "West US"]);
      assert.ok(machines.apiVersions.includes(version));
      assert.equal((await client.providers.getAtTenantScope("Contoso.Compute")).namespace, "Contoso.Compute");
      assert.ok((await collect(client.providers.listAtTenantScope())).length >= 2);
      await refused(client.providers.get("Fabrikam.Nothing"), 404, "InvalidResourceNamespace");
      const operations = (await collect(client.operations.list())).map((operation) => operation.name);
      assert.ok(operations.includes("Microsoft.Resources/subscriptions/resourceGroups/moveResources/action"), `${operations}`);
    });

    test("register before the first write", async () => {
      const group = await newGroup(client);
      const id = `${groupId(group)}/providers/Contoso.Insight/workspaces/w`;
      const put = () => client.resources.beginCreateOrUpdateByIdAndWait(id, version, { location: "eastus" });
      const error = await refused(put(), 409, "MissingSubscriptionRegistration");
      assert.match(error.message, /to use namespace 'Contoso.Insight'/);
      assert.deepEqual(told(calls).details.map((detail) => [detail.code, detail.target]), [["MissingSubscriptionRegistration", "Contoso.Insight"]]);
      assert.match((await client.providers.register("Contoso.Insight")).registrationState, /^Register(ing|ed)$/);
      const signal = AbortSignal.timeout(60_000);
      while ((await client.providers.get("Contoso.Insight")).registrationState !== "Registered") await pause(20, undefined, { signal });
      assert.equal((await put()).id, id);
      await refused(client.providers.unregister("Contoso.Insight"), 409, "CannotUnregisterNamespaceWithResources");
      await client.resources.beginDeleteByIdAndWait(id, version);
      assert.match((await client.providers.unregister("Contoso.Insight")).registrationState, /^Unregister(ing|ed)$/);
    });
  });
}
