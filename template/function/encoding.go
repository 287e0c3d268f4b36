package function

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"portico/template/expr"
)

func encodingFunctions() []row {
	text := param("text", expr.String)
	return []row{
		function("base64", "A string encoded in base64.", 1, 1, toBase64, text),
		function("base64ToJson", "The value of a JSON text encoded in base64.", 1, 1, base64ToJSON, text),
		function("base64ToString", "The string that is encoded in base64.", 1, 1, base64ToString, text),
		function("buildUri", "A URI, from an object with scheme, host, port, path and query.", 1, 1, buildURI, param("parts", expr.Object)),
		function("dataUri", "A value as a data URI.", 1, 1, dataURI, param("value", expr.Any)),
		function("dataUriToString", "The text in a data URI.", 1, 1, dataURIToString, text),
		function("parseUri", "An object with a URI's scheme, host, port, path and query.", 1, 1, parseURI, text),
		function("uri", "A relative URI resolved against a base URI.", 2, 2, combineURI, param("base", expr.String), param("relative", expr.String)),
		function("uriComponent", "A string escaped for use in a URI: all characters except letters, digits and -_.~ are escaped.", 1, 1, uriComponent, text),
		function("uriComponentToString", "The string that is escaped in a part of a URI.", 1, 1, uriComponentToString, text),
	}
}

func toBase64(c *expr.Call, args []expr.Value) (expr.Value, error) {
	return encodeBase64(c, "", args[0].Text())
}

func encodeBase64(c *expr.Call, prefix, text string) (expr.Value, error) {
	if err := c.Bytes(len(prefix) + base64.StdEncoding.EncodedLen(len(text))); err != nil {
		return expr.Value{}, err
	}
	return expr.StringOf(prefix + base64.StdEncoding.EncodeToString([]byte(text))), nil
}

func decodeBase64(c *expr.Call, text string) (string, error) {
	if err := c.Bytes(len(text)); err != nil {
		return "", err
	}
	bytes, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return "", expr.Errorf("the text is not valid base64")
	}
	return strings.ToValidUTF8(string(bytes), string(utf8.RuneError)), nil
}

func base64ToString(c *expr.Call, args []expr.Value) (expr.Value, error) {
	text, err := decodeBase64(c, args[0].Text())
	return expr.StringOf(text), err
}

func base64ToJSON(c *expr.Call, args []expr.Value) (expr.Value, error) {
	text, err := base64ToString(c, args)
	if err != nil {
		return expr.Value{}, err
	}
	return readJSON(c, []expr.Value{text})
}

func dataURI(c *expr.Call, args []expr.Value) (expr.Value, error) {
	if args[0].Is(expr.String) {
		return encodeBase64(c, "data:text/plain;charset=utf8;base64,", args[0].Text())
	}
	if err := c.Bytes(args[0].Size()); err != nil {
		return expr.Value{}, err
	}
	return encodeBase64(c, "data:application/json;charset=utf8;base64,", args[0].JSON())
}

func dataURIToString(c *expr.Call, args []expr.Value) (expr.Value, error) {
	head, data, ok := strings.Cut(args[0].Text(), ",")
	kind, ok2 := strings.CutPrefix(head, "data:")
	if !ok || !ok2 {
		return expr.Value{}, expr.Errorf("expects its parameter to be formatted as a valid data URI")
	}
	if !strings.HasSuffix(strings.ToLower(kind), ";base64") {
		return uriComponentToString(c, []expr.Value{expr.StringOf(data)})
	}
	text, err := decodeBase64(c, data)
	return expr.StringOf(text), err
}

func combineURI(c *expr.Call, args []expr.Value) (expr.Value, error) {
	size := len(args[0].Text()) + len(args[1].Text())
	if err := c.Bytes(3 * size); err != nil { // the size if everything is escaped
		return expr.Value{}, err
	}
	ups := strings.Count(args[0].Text(), "..") + strings.Count(args[1].Text(), "..")
	if err := c.Steps(ups * (size / 1024)); err != nil { // each copies the path before it
		return expr.Value{}, err
	}
	text, ok := combineURL(args[0].Text(), args[1].Text())
	if !ok {
		return expr.Value{}, expr.Errorf("expects its first argument to be a uri string, and its second one a uri or a part of one")
	}
	return expr.StringOf(text), nil
}

func uriComponent(c *expr.Call, args []expr.Value) (expr.Value, error) {
	if err := c.Bytes(escapedSize(args[0].Text())); err != nil {
		return expr.Value{}, err
	}
	return expr.StringOf(escapeData(args[0].Text())), nil
}

func uriComponentToString(c *expr.Call, args []expr.Value) (expr.Value, error) {
	if err := c.Bytes(len(args[0].Text())); err != nil {
		return expr.Value{}, err
	}
	return expr.StringOf(strings.ToValidUTF8(unescapeData(args[0].Text()), string(utf8.RuneError))), nil
}

func parseURI(c *expr.Call, args []expr.Value) (expr.Value, error) {
	if err := c.Bytes(3 * len(args[0].Text())); err != nil {
		return expr.Value{}, err
	}
	u, ok := parseURL(args[0].Text())
	if !ok {
		return expr.Value{}, expr.Errorf("expects its parameter to be a uri string")
	}
	port, query := expr.Value{}, ""
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		port = expr.IntOf(int64(n))
	}
	if u.RawQuery != "" {
		query = "?" + u.RawQuery
	}
	return object("scheme", expr.StringOf(u.Scheme), "host", expr.StringOf(u.Hostname()), "port", port,
		"path", expr.StringOf(u.EscapedPath()), "query", expr.StringOf(query)), nil
}

// object builds an object from alternating names and values.
func object(pairs ...any) expr.Value {
	members := make([]expr.Member, len(pairs)/2)
	for i := range members {
		members[i] = expr.Member{Name: pairs[2*i].(string), Value: pairs[2*i+1].(expr.Value)}
	}
	return expr.ObjectOf(members...)
}

func buildURI(c *expr.Call, args []expr.Value) (expr.Value, error) {
	part := func(name string) expr.Value { v, _ := args[0].Member(name); return v }
	if err := c.Bytes(3 * args[0].Size()); err != nil {
		return expr.Value{}, err
	}
	host := part("host").Text()
	switch port := part("port"); {
	case port.Is(expr.Int):
		host += ":" + strconv.FormatInt(port.Int(), 10)
	case !port.Is(expr.Null):
		return expr.Value{}, expr.Errorf("the port must be an integer, and is of kind %s", port.Kind())
	}
	path := part("path").Text()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	u := url.URL{Scheme: part("scheme").Text(), Host: host, RawQuery: strings.TrimPrefix(part("query").Text(), "?")}
	u.Path = unescapeData(path)
	u.RawPath = path
	whole, ok := parseURL(u.String())
	if !ok {
		return expr.Value{}, expr.Errorf("scheme and host make no uri")
	}
	return expr.StringOf(whole.String()), nil
}
