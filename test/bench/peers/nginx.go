package peers

import (
	"fmt"
	"os"
	"testing"

	"portico/test/harness"
)

// StartNginx runs nginx with one process for each worker.
func StartNginx(t testing.TB, o Options) Peer {
	t.Helper()
	folder, listen, secure := t.TempDir(), harness.FreeAddress(t), harness.FreeAddress(t)
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // whom the folder belongs to
	}
	file := write(t, folder, "nginx.conf", fmt.Sprintf(`daemon off; %s worker_processes %d; pid nginx.pid; error_log stderr crit;
events { worker_connections 8192; }
http {
  access_log off; keepalive_requests 1000000000; proxy_buffers 8 64k;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  upstream provider { server %s; keepalive 1024; keepalive_requests 1000000000; }
  server {
    listen %s reuseport;
    %s
    location / { proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_max_temp_file_size 0; }
    %s
  }
}
`, user, o.Workers, o.Provider, listen,
		o.whenSecure("listen %s reuseport ssl http2; ssl_certificate %s; ssl_certificate_key %s;", secure, o.Certificate.CertFile, o.Certificate.KeyFile),
		o.whenOwn("location ^~ %s { default_type application/json; return 404 '%s'; }", o.OwnPath, o.OwnAnswer)))
	return o.proxy(t, Nginx, folder, listen, secure, harness.Installed(t, "nginx"), "-p", folder, "-c", file)
}
