package sdk

import (
	"maps"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

func pointers(tags map[string]string) map[string]*string {
	all := map[string]*string{}
	for name, v := range tags {
		all[name] = to.Ptr(v)
	}
	return all
}

func texts(tags map[string]*string) map[string]string {
	all := map[string]string{}
	for name, v := range tags {
		all[name] = value(v)
	}
	return all
}

func TestTagsOfScopes(t *testing.T) {
	c := newClients(t, harness.Config{})
	tags, err := armresources.NewTagsClient(c.SubscriptionID, staticToken(owner.Raw), optionsFor(c.World))
	harness.OK(t, err)
	ctx := t.Context()
	c.createGroup(t, "rg")
	vm := c.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	c.put(t, ctx, vm, armresources.GenericResource{Location: to.Ptr("eastus")})
	for _, scope := range []string{c.SubscriptionPath(), c.GroupPath("rg"), vm} {
		put, err := tags.CreateOrUpdateAtScope(ctx, scope, armresources.TagsResource{
			Properties: &armresources.Tags{Tags: pointers(map[string]string{"Env": "prod", "b": "2"})},
		}, nil)
		harness.OK(t, err)
		if value(put.ID) != scope+"/providers/Microsoft.Resources/tags/default" || value(put.Name) != "default" || value(put.Type) != "Microsoft.Resources/tags" {
			t.Errorf("%s %s %s", value(put.ID), value(put.Name), value(put.Type))
		}
		for _, step := range []struct {
			operation  armresources.TagsPatchOperation
			sent, want map[string]string
		}{
			{armresources.TagsPatchOperationMerge, map[string]string{"ENV": "test", "c": "3"}, map[string]string{"ENV": "test", "b": "2", "c": "3"}},
			{armresources.TagsPatchOperationDelete, map[string]string{"b": "2", "c": "other"}, map[string]string{"ENV": "test", "c": "3"}},
			{armresources.TagsPatchOperationReplace, map[string]string{"d": "4"}, map[string]string{"d": "4"}},
		} {
			got, err := tags.UpdateAtScope(ctx, scope, armresources.TagsPatchResource{
				Operation: to.Ptr(step.operation), Properties: &armresources.Tags{Tags: pointers(step.sent)},
			}, nil)
			if err != nil || !maps.Equal(texts(got.Properties.Tags), step.want) {
				t.Errorf("%s on %s: %+v %v", step.operation, scope, got.TagsResource, err)
			}
		}
		got, err := tags.GetAtScope(ctx, scope, nil)
		if err != nil || !maps.Equal(texts(got.Properties.Tags), map[string]string{"d": "4"}) {
			t.Errorf("%+v %v", got.TagsResource, err)
		}
	}
	machine, err := c.resources.GetByID(ctx, vm, harness.Version, nil)
	if err != nil || value(machine.Tags["d"]) != "4" {
		t.Errorf("%+v %v", machine.Tags, err)
	}
	subscription, err := c.subscriptions.Get(ctx, c.SubscriptionID, nil)
	if err != nil || value(subscription.Tags["d"]) != "4" {
		t.Errorf("%+v %v", subscription.Tags, err)
	}

	for _, scope := range []string{c.SubscriptionPath(), c.GroupPath("rg"), vm} {
		if _, err := tags.DeleteAtScope(ctx, scope, nil); err != nil {
			t.Errorf("%s: %v", scope, err)
		}
	}
}
