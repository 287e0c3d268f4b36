package certifyconfig

import (
	"fmt"

	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
	"portico/provider/certify/contract"
)

// exerciseRows returns the rows that describe how cases may exercise a type.
func exerciseRows(e *contract.Exercise) []*setting.Setting {
	return []*setting.Setting{
		object("body", &e.Body, "The body of a PUT, instead of a [sample](#bodies)."),
		object("other", &e.Other, "The body of another PUT, with different properties."),
		object("change", &e.Change, "A merge patch of the properties of `body`."),
		object("kept", &e.Kept, "Top-level members besides `properties` that a PUT may have and a GET must return."),
		setting.Mappings("refused", "Bodies that must be refused with 400.", func(r *contract.Refused) []*setting.Setting {
			return []*setting.Setting{text("why", &r.Why, "The error in the body."), object("members", &r.Members, "The members of the body.")}
		}, collect(&e.Refused)),
		object("sku", &e.SKU, "A value of `sku`."),
		object("otherSKU", &e.OtherSKU, "Another value of `sku`. A resource can change from each of the two to the other."),
		boolean("skus", &e.SKUs, "The provider answers `{resource}/skus`."),
		boolean("hasSKUs", &e.HasSKUs, "`{resource}/skus` lists at least one SKU."),
		setting.Mappings("actions", "Actions of a resource, which are called with POST.", actionRows, collect(&e.Actions)),
		text("deepInsert", &e.DeepInsert, "The last segment of a proxy-only child type. A PUT of the parent may contain such children in the member of `properties` with this name."),
		setting.Mapping("longRun", "An action that may run longer than its polling URLs exist.",
			text("action", &e.LongRun.Action, "The name of the action."),
			text("child", &e.LongRun.Child, "The child resource that shows the state of the run, such as `runs/latest`."),
			text("status", &e.LongRun.Status, "The path of the state in that child, such as `properties.status`.")),
		setting.Mapping("createdFor", "Resources that the provider creates in its own subscription for a resource of a user.",
			text("ids", &e.CreatedFor.IDs, "The path of the member with the IDs of these resources, such as `properties.machines`."),
			object("more", &e.CreatedFor.More, "A merge patch of the properties after which the provider creates more of them.")),
		boolean("readOnly", &e.ReadOnly, "Clients cannot write the type."),
		texts("writeOnly", &e.WriteOnly, "Paths of members that no answer may contain, such as `properties.password`."),
		text("names", &e.Names, "A pattern for names, if the type restricts them, with `{n}` for a number, such as `certify{n}`."),
		boolean("systemData", &e.SystemData, "Instances have `systemData`."),
		texts("withoutETags", &e.WithoutETags, "Api-versions without entity tags."),
	}
}

func actionRows(a *contract.Action) []*setting.Setting {
	return []*setting.Setting{
		text("name", &a.Name, "The last segment of the action's path."),
		setting.Value("status", &a.Status, rule.CountTo(599), 0, "The status of the action's result.").Default("none"),
		object("shows", &a.Shows, "Members of the action's result."),
		boolean("asynchronous", &a.Asynchronous, "The action is asynchronous even if the request does not ask for it."),
	}
}

// asynchronyRows returns the rows that describe how to request asynchronous answers.
func asynchronyRows(a *contract.Asynchrony) []*setting.Setting {
	return []*setting.Setting{
		headers("short", &a.Short, "Headers that ask for an operation that ends soon."),
		headers("long", &a.Long, "Headers that ask for an operation that does not end while a case runs."),
		headers("failed", &a.Failed, "Headers that ask for an operation that fails."),
		headers("canceled", &a.Canceled, "Headers that ask for an operation that is canceled."),
		text("retryAfter", &a.RetryAfter, "The request header that sets the `Retry-After` of the answer."),
		setting.Mappings("patterns", "Forms of asynchronous answers that a request can ask for.", func(p *contract.Pattern) []*setting.Setting {
			return []*setting.Setting{
				text("name", &p.Name, "Any name."),
				setting.Required("method", &p.Method, rule.OneOf("PUT", "PATCH", "DELETE", "POST"), "The method of the request."),
				headers("headers", &p.Headers, "Request headers that ask for this form."),
				boolean("accepted", &p.Accepted, "The answer has status 202."),
				boolean("location", &p.Location, "The answer has a `Location`."),
				boolean("status", &p.Status, "The answer has an `Azure-AsyncOperation`."),
			}
		}, collect(&a.Patterns)),
		setting.Mappings("places", "Forms of polling URLs that a request can ask for.", func(p *contract.Place) []*setting.Setting {
			return []*setting.Setting{
				text("name", &p.Name, "Any name."),
				headers("headers", &p.Headers, "Request headers that ask for this form."),
				text("path", &p.Path, "The form of the URL's path, such as `{subscription}/providers/{namespace}`."),
			}
		}, collect(&a.Places)),
	}
}

// collect returns a function that appends the items of a list.
func collect[T any](into *[]T) func(*setting.Object, T) {
	return func(_ *setting.Object, item T) { *into = append(*into, item) }
}

func text(key string, at *string, doc string) *setting.Setting {
	return setting.Value(key, at, rule.Text(), "", doc)
}

func texts(key string, at *[]string, doc string) *setting.Setting {
	return setting.List(key, rule.Text(), doc, func(_ *yamltree.Node, v string) { *at = append(*at, v) })
}

func boolean(key string, at *bool, doc string) *setting.Setting {
	return setting.Value(key, at, rule.Bool(), false, doc)
}

// object returns the row of a mapping that is copied into bodies.
func object(key string, at *contract.Object, doc string) *setting.Setting {
	return setting.Free(key, "JSON object", doc, func(o *setting.Object) {
		if n := mappingAt(o, key, "keys with values, such as {a: b}"); n != nil {
			*at, _ = o.JSON(n).(map[string]any)
		}
	})
}

func headers(key string, at *contract.Headers, doc string) *setting.Setting {
	return setting.Free(key, "headers", doc, func(o *setting.Object) {
		n := mappingAt(o, key, "headers with values, such as {x-acme-answer: late}")
		if n == nil {
			return
		}
		*at = contract.Headers{}
		for _, e := range n.Entries {
			if e.Value.Kind != yamltree.Scalar {
				o.Fault(e.Value, fmt.Sprintf("%s.%s is %s, not a single value", yamltree.Join(o.Path, key), e.Key.Text, e.Value.Kind), "a single value")
				continue
			}
			(*at)[e.Key.Text] = e.Value.Text
		}
	})
}

// mappingAt returns the mapping under a key; nil if it is absent or was reported.
func mappingAt(o *setting.Object, key, allowed string) *yamltree.Node {
	n := o.Get(key)
	if n != nil && n.Kind != yamltree.Mapping {
		o.Fault(n, fmt.Sprintf("%s is %s, not a mapping", yamltree.Join(o.Path, key), n.Kind), allowed)
		return nil
	}
	return n
}
