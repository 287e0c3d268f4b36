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
		object("other", &e.Other, "Another body of a PUT, with other members in its properties."),
		object("change", &e.Change, "A merge-patch of the properties of `body`."),
		object("kept", &e.Kept, "Members next to properties that a PUT may have and a GET must show."),
		setting.Mappings("refused", "Bodies that must be refused with 400.", func(r *contract.Refused) []*setting.Setting {
			return []*setting.Setting{text("why", &r.Why, "What is wrong with the body."), object("members", &r.Members, "Its members.")}
		}, collect(&e.Refused)),
		object("sku", &e.SKU, "A value of `sku`."),
		object("otherSKU", &e.OtherSKU, "Another one; a resource can change from one to the other and back."),
		boolean("skus", &e.SKUs, "`{resource}/skus` is answered."),
		boolean("hasSKUs", &e.HasSKUs, "`{resource}/skus` lists some."),
		setting.Mappings("actions", "Actions of a resource, called by POST.", actionRows, collect(&e.Actions)),
		text("deepInsert", &e.DeepInsert, "The last name of a proxy-only child type whose instances a PUT may contain, in the member of properties of that name."),
		setting.Mapping("longRun", "An action that outlives its polling URLs.",
			text("action", &e.LongRun.Action, "Its name."),
			text("child", &e.LongRun.Child, "The child that shows its state, such as `runs/latest`."),
			text("status", &e.LongRun.Status, "The path of the member with the state, such as `properties.status`.")),
		setting.Mapping("createdFor", "Resources that the provider creates in its own subscription for a resource.",
			text("ids", &e.CreatedFor.IDs, "The path of the member that names them by id, such as `properties.machines`."),
			object("more", &e.CreatedFor.More, "A merge-patch of properties that makes the provider create more.")),
		boolean("readOnly", &e.ReadOnly, "Clients cannot write the type."),
		texts("writeOnly", &e.WriteOnly, "Paths of members that are never shown, such as `properties.password`."),
		text("names", &e.Names, "The form of names, with `{n}` for a number, if the type restricts them, such as `certify{n}`."),
		boolean("systemData", &e.SystemData, "The type shows `systemData`."),
		texts("withoutETags", &e.WithoutETags, "Api-versions older than entity tags."),
	}
}

func actionRows(a *contract.Action) []*setting.Setting {
	return []*setting.Setting{
		text("name", &a.Name, "The last segment of its path."),
		setting.Value("status", &a.Status, rule.CountTo(599), 0, "The status of its result.").Default("none"),
		object("shows", &a.Shows, "Members of its result."),
		boolean("asynchronous", &a.Asynchronous, "It is asynchronous even if that is not requested."),
	}
}

// asynchronyRows returns the rows that describe how to request asynchronous answers.
func asynchronyRows(a *contract.Asynchrony) []*setting.Setting {
	return []*setting.Setting{
		headers("short", &a.Short, "Headers for an operation that soon ends."),
		headers("long", &a.Long, "Headers for an operation that does not end during a case."),
		headers("failed", &a.Failed, "Headers for an operation that fails."),
		headers("canceled", &a.Canceled, "Headers for an operation that is canceled."),
		text("retryAfter", &a.RetryAfter, "The header that requests a Retry-After."),
		setting.Mappings("patterns", "The ways of answering that can be requested.", func(p *contract.Pattern) []*setting.Setting {
			return []*setting.Setting{
				text("name", &p.Name, "Any name."),
				setting.Required("method", &p.Method, rule.OneOf("PUT", "PATCH", "DELETE", "POST"), "The method that is answered in this way."),
				headers("headers", &p.Headers, "The headers that request it."),
				boolean("accepted", &p.Accepted, "The answer is a 202."),
				boolean("location", &p.Location, "It has a Location."),
				boolean("status", &p.Status, "It has an Azure-AsyncOperation."),
			}
		}, collect(&a.Patterns)),
		setting.Mappings("places", "The forms of polling URLs.", func(p *contract.Place) []*setting.Setting {
			return []*setting.Setting{
				text("name", &p.Name, "Any name."),
				headers("headers", &p.Headers, "The headers that request it."),
				text("path", &p.Path, "The form, such as `{subscription}/providers/{namespace}`."),
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
