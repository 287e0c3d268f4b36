package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

const addressForm = "https://host[:port] or http://host[:port], without path, query or credentials"

// address reads a URL that is only a scheme and a host. It returns it in one
// form (lower case, no default port) or says what is wrong with it.
func address(text string) (u *url.URL, wrong string) {
	u, wrong = webURL(text)
	switch {
	case wrong != "":
		return nil, wrong
	case u.Path != "":
		return nil, "has a path"
	}
	return u, ""
}

// webURL reads an absolute http or https URL that may have a path.
func webURL(text string) (u *url.URL, wrong string) {
	parsed, err := url.Parse(text)
	switch {
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, "holds white space, control characters or letters beyond ASCII"
	case strings.Contains(text, "#"):
		return nil, "has a fragment"
	case strings.Contains(text, "?"):
		return nil, "has a query"
	case err != nil:
		return nil, "is no URL" // the error would quote it
	case parsed.User != nil:
		return nil, "holds credentials"
	case parsed.Scheme == "":
		return nil, "is relative"
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return nil, "is neither http nor https"
	}
	host, wrong := canonicalHost(parsed.Scheme, parsed.Host)
	if wrong != "" {
		return nil, wrong
	}
	return &url.URL{Scheme: parsed.Scheme, Host: host, Path: parsed.Path, RawPath: parsed.RawPath}, ""
}

// canonicalHost checks host[:port] of a URL.
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
			return "", "names no valid host"
		}
		name = "[" + ip.String() + "]"
	} else if !validHost(name) {
		return "", "names no valid host"
	}
	if port == "" || scheme == "https" && port == "443" || scheme == "http" && port == "80" {
		return name, ""
	}
	return name + ":" + port, ""
}

// validPort accepts 1 to 65535, without leading zeros.
func validPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0 && text[0] != '0' && text[0] != '+'
}

// validHost accepts IPv4 addresses and DNS names in ASCII.
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

// badAddress words the fault of an address. One that may hold credentials is
// not shown.
func badAddress(path, text, wrong string) string {
	if strings.Contains(text, "@") || wrong == "is no URL" {
		return fmt.Sprintf("%s %s", path, wrong)
	}
	return fmt.Sprintf("%s %s %s", path, quote(text), wrong)
}

// readAddress reads an address under a key. What read makes of its path, paths
// says as a pattern.
func readAddress(o object, key string, read func(string) (*url.URL, string), paths, allowed string) *url.URL {
	path := join(o.path, key)
	o.r.notes.address(path, allowed, paths)
	n := o.get(key)
	if n == nil {
		return nil
	}
	if n.kind != scalar {
		o.r.fault(n, fmt.Sprintf("%s is %s, not a single value", path, n.kind), allowed)
		return nil
	}
	u, wrong := read(n.text)
	if wrong != "" {
		o.r.fault(n, badAddress(path, n.text, wrong), allowed)
		return nil
	}
	return u
}

// listener is a host:port to listen on. Port 0 lets the system choose.
func listener() rule[string] {
	return rule[string]{
		parse: func(text string) (string, bool) {
			host, port, err := net.SplitHostPort(text)
			if err != nil || port != "0" && !validPort(port) {
				return "", false
			}
			if _, err := netip.ParseAddr(host); err == nil || host == "" || validHost(host) {
				return text, true
			}
			return "", false
		},
		noun:    "listening address",
		allowed: "host:port, such as 127.0.0.1:8080, [::1]:8080 or :443",
		shape:   matching(`^.*:[0-9]+$`),
	}
}

// loopback reports whether a listening address is reachable from this machine
// only.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// network is an IP address or a CIDR prefix.
func network() rule[netip.Prefix] {
	return rule[netip.Prefix]{
		parse: func(text string) (netip.Prefix, bool) {
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
		noun:    "network",
		allowed: "an IP address or a network such as 10.0.0.0/8 or fd00::/8",
		shape:   matching(`^[0-9A-Fa-f.:]+(/[0-9]+)?$`),
	}
}

// hostName is a host without port, as a Host header may hold it.
func hostName() rule[string] {
	return rule[string]{
		parse: func(text string) (string, bool) {
			return strings.ToLower(text), validHost(text)
		},
		noun:    "host name",
		allowed: "a DNS name without port, such as portico-admin.internal",
		shape:   matching(`^[0-9A-Za-z._-]+$`),
	}
}
