package rule

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"portico/config/yamltree"
)

// AddressForm describes a valid address.
const AddressForm = "https://host[:port] or http://host[:port], without path, query or credentials"

// Address accepts a URL with only scheme and host.
func Address() Rule[*url.URL] {
	return Rule[*url.URL]{
		Parse: func(text string) (*url.URL, bool) {
			u, wrong := ParseAddress(text)
			return u, wrong == ""
		},
		Shown:   true,
		Noun:    "address",
		Allowed: AddressForm,
		Schema:  addressSchema(hostPattern, ""),
		describeWrong: func(text string) string {
			_, wrong := ParseAddress(text)
			return wrong
		},
	}
}

// WebURL accepts an absolute http or https URL, which may have a path.
func WebURL() Rule[string] {
	return Rule[string]{
		Parse: func(text string) (string, bool) {
			u, wrong := parseWebURL(text)
			if wrong != "" {
				return "", false
			}
			return u.String(), true
		},
		Shown:   true,
		Noun:    "address",
		Allowed: "https://host[:port][/path], without query or credentials",
		Schema:  addressSchema(hostPattern, anyPath),
		describeWrong: func(text string) string {
			_, wrong := parseWebURL(text)
			return wrong
		},
	}
}

// Issuer accepts the URL of a token issuer and keeps it unchanged: https, or http on this machine.
func Issuer() Rule[string] {
	wrong := func(text string) string {
		u, wrong := parseWebURL(text)
		if wrong == "" && u.Scheme == "http" && !LoopbackHost(u.Hostname()) {
			wrong = "is neither https nor a loopback address"
		}
		return wrong
	}
	return Rule[string]{
		Parse:         func(text string) (string, bool) { return text, wrong(text) == "" },
		Shown:         true,
		Noun:          "issuer",
		Allowed:       "https://host[:port][/path], or http:// for a loopback host, without query or credentials",
		Schema:        addressSchema(hostPattern, anyPath),
		describeWrong: wrong,
	}
}

// Webhook accepts the URL of a receiver of events. It may have a query, which may contain a secret,
// so the text is not quoted.
func Webhook() Rule[*url.URL] {
	return Rule[*url.URL]{
		Parse: func(text string) (*url.URL, bool) {
			front, query, _ := strings.Cut(text, "?")
			u, wrong := parseWebURL(front)
			if wrong != "" || strings.ContainsFunc(query, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' }) {
				return nil, false
			}
			u.RawQuery = query
			return u, true
		},
		Noun:    "webhook URL",
		Allowed: "https://host[:port][/path][?query], or http:// for a loopback host, without credentials before the host",
		Secret:  true,
		Schema:  matching(`^[Hh][Tt][Tt][Pp][Ss]?://[^\s#@/?]+([/?][^\s#]*)?$`),
	}
}

// WebhookSecret accepts a secret for signing webhooks, in the format of Standard Webhooks.
func WebhookSecret() Rule[[]byte] {
	return Rule[[]byte]{
		Parse: func(text string) ([]byte, bool) {
			encoded, found := strings.CutPrefix(text, "whsec_")
			raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
			return raw, found && err == nil && len(raw) >= 24 && len(raw) <= 64
		},
		Noun:    "webhook secret",
		Allowed: "whsec_ and base64 of 24 to 64 random bytes: echo whsec_$(head -c 32 /dev/urandom | base64)",
		Secret:  true,
		Schema:  matching("^whsec_[0-9A-Za-z+/]{32,86}={0,2}$"),
	}
}

// LoopbackHost reports whether a host is this machine.
func LoopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// AddressTemplate accepts a text that becomes an address if its placeholders are replaced.
func AddressTemplate() Rule[string] {
	r := Text()
	r.Schema, r.Shown = addressSchema(templatePattern, ""), true
	return r
}

// ParseAddress parses an address and normalizes it (lower case, no default port). If it is invalid,
// wrong describes the error.
func ParseAddress(text string) (u *url.URL, wrong string) {
	u, wrong = parseWebURL(text)
	switch {
	case wrong != "":
		return nil, wrong
	case u.Path != "":
		return nil, "has a path"
	}
	return u, ""
}

func parseWebURL(text string) (u *url.URL, wrong string) {
	parsed, err := url.Parse(text)
	switch {
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, "contains white space, control characters or letters beyond ASCII"
	case strings.Contains(text, "#"):
		return nil, "has a fragment"
	case strings.Contains(text, "?"):
		return nil, "has a query"
	case err != nil:
		return nil, "is not a URL" // the error would quote it
	case parsed.User != nil:
		return nil, "contains credentials"
	case parsed.Scheme == "":
		return nil, "has no scheme"
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return nil, "is neither http nor https"
	}
	host, wrong := canonicalHost(parsed.Scheme, parsed.Host)
	if wrong != "" {
		return nil, wrong
	}
	return &url.URL{Scheme: parsed.Scheme, Host: host, Path: parsed.Path, RawPath: parsed.RawPath}, ""
}

// canonicalHost checks and normalizes a URL's host[:port].
func canonicalHost(scheme, host string) (canonical, wrong string) {
	name, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		name, port = host[:i], host[i+1:]
		if !validPort(port) {
			return "", "has a port that is not 1 to 65535"
		}
	}
	name = strings.ToLower(name)
	if bare, isIP6 := strings.CutPrefix(name, "["); isIP6 {
		ip, err := netip.ParseAddr(strings.TrimSuffix(bare, "]"))
		if err != nil || !ip.Is6() || ip.Zone() != "" {
			return "", "has no valid host"
		}
		name = "[" + ip.String() + "]"
	} else if !validHost(name) {
		return "", "has no valid host"
	}
	if port == "" || scheme == "https" && port == "443" || scheme == "http" && port == "80" {
		return name, ""
	}
	return name + ":" + port, ""
}

// validPort reports whether text is a number from 1 to 65535 without leading zeros.
func validPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0 && text[0] != '0' && text[0] != '+'
}

// validHost reports whether name is an IPv4 address or an ASCII DNS name.
func validHost(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	// A name that ends in a number can only be an IPv4 address.
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" {
		_, err := netip.ParseAddr(name)
		return err == nil
	}
	return true
}

// BadAddress describes an invalid address. It does not quote an address that may contain
// credentials.
func BadAddress(path, text, wrong string) string {
	if strings.Contains(text, "@") || wrong == "is not a URL" {
		return fmt.Sprintf("%s %s", path, wrong)
	}
	return fmt.Sprintf("%s %s %s", path, yamltree.Quote(text), wrong)
}

// ListenAddress accepts a host:port to listen on. With port 0, the system chooses a port.
func ListenAddress() Rule[string] {
	return Rule[string]{
		Parse: func(text string) (string, bool) {
			host, port, err := net.SplitHostPort(text)
			if err != nil || port != "0" && !validPort(port) {
				return "", false
			}
			if _, err := netip.ParseAddr(host); err == nil || host == "" || validHost(host) {
				return text, true
			}
			return "", false
		},
		Shown:   true,
		Noun:    "listening address",
		Allowed: "host:port, such as 127.0.0.1:8080, [::1]:8080 or :443",
		Schema:  matching(`^.*:[0-9]+$`),
	}
}

// Network accepts an IP address or a CIDR prefix.
func Network() Rule[netip.Prefix] {
	return Rule[netip.Prefix]{
		Parse: func(text string) (netip.Prefix, bool) {
			if p, err := netip.ParsePrefix(text); err == nil {
				return p.Masked(), !p.Addr().Is4In6()
			}
			ip, err := netip.ParseAddr(text)
			if err != nil || ip.Zone() != "" {
				return netip.Prefix{}, false
			}
			ip = ip.Unmap()
			return netip.PrefixFrom(ip, ip.BitLen()), true
		},
		Shown:   true,
		Noun:    "network",
		Allowed: "an IP address or a network such as 10.0.0.0/8 or fd00::/8",
		Schema:  matching(`^[0-9A-Fa-f.:]+(/[0-9]+)?$`),
	}
}

// HostName accepts a host without port, as in a Host header.
func HostName() Rule[string] {
	return Rule[string]{
		Parse: func(text string) (string, bool) {
			return strings.ToLower(text), validHost(text)
		},
		Shown:   true,
		Noun:    "host name",
		Allowed: "a DNS name without port, such as portico-admin.internal",
		Schema:  matching(`^[0-9A-Za-z._-]+$`),
	}
}

// DNSLabel accepts a label of a host name.
func DNSLabel() Rule[string] {
	return Rule[string]{
		Parse: func(text string) (string, bool) {
			return text, text != "" && len(text) <= 63 && text[0] != '-' && text[len(text)-1] != '-' &&
				strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
		},
		Shown:   true,
		Noun:    "DNS label",
		Allowed: "1 to 63 lower-case letters, digits and hyphens",
		Schema:  matching("^[0-9a-z]([0-9a-z-]{0,61}[0-9a-z])?$"),
	}
}

// RedirectHost accepts a host, or all hosts below a domain. The domain needs two labels, because a
// whole top-level domain is never intended.
func RedirectHost() Rule[string] {
	return Rule[string]{
		Parse: func(text string) (string, bool) {
			text = strings.ToLower(text)
			name, port, ported := strings.Cut(text, ":")
			name, below := strings.CutPrefix(name, "*.")
			if ported && !validPort(port) {
				return "", false
			}
			return text, hostLabels(name) && (!below || strings.Contains(name, "."))
		},
		Shown: true,
		Noun:  "host to redirect to",
		Allowed: "a host such as files.contoso.example, *. before a domain of at least two labels for all hosts below it, with an optional port such as " +
			":8443; no scheme, no path",
		Schema: matching(`^(\*\.)?[0-9A-Za-z.-]+(:[1-9][0-9]{0,4})?$`),
	}
}

func hostLabels(name string) bool {
	label := DNSLabel()
	for part := range strings.SplitSeq(name, ".") {
		if _, ok := label.Parse(part); !ok {
			return false
		}
	}
	return len(name) <= 253
}
