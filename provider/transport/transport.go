package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"
)

// idlePing is how long nothing may arrive on an HTTP/2 connection before it is pinged, and pingWait how long the reply may take. Together
// they bound how long a call waits on a connection that is dead.
const (
	idlePing = 15 * time.Second
	pingWait = 15 * time.Second
)

// ErrProxyLogin is the error of an exchange whose proxy asks for a login, or refuses the one it got.
var ErrProxyLogin = errors.New("the proxy asks for a login, or refuses the one it got (407): set proxy_login_env, or user and password " +
	"in HTTPS_PROXY; the login must be a Basic one")

// New makes a transport. Each error is a [*SettingError].
//
// The client's certificate is read again for each connection, so that one which is renewed every day needs no restart. CAFile is read
// once.
func New(s Settings) (*http.Transport, error) {
	t := &http.Transport{
		Proxy:                  fromEnvironment(http.ProxyFromEnvironment),
		DialContext:            (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    15 * time.Second,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: idlePing, PingTimeout: pingWait},
		DisableCompression:     true, // so that what comes compressed is seen and refused, never inflated
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		ReadBufferSize:         32 << 10, // a vendor that is fast costs a sixth less than with 4 KiB
	}
	t.OnProxyConnectResponse = checkLogin
	if s.IsZero() {
		return t, nil
	}
	proxy, err := s.proxy()
	if err != nil {
		return nil, err
	}
	if s.Proxy != "" {
		t.Proxy = http.ProxyURL(proxy)
	}
	if t.TLSClientConfig.RootCAs, err = s.authorities(); err != nil {
		return nil, err
	}
	if s.CertFile != "" || s.KeyFile != "" {
		if _, err := s.certificate(); err != nil {
			return nil, err
		}
		t.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.certificate() }
	}
	return t, nil
}

func checkLogin(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusProxyAuthRequired {
		return ErrProxyLogin
	}
	return nil
}

// fromEnvironment is what the environment says of proxies. An address that cannot be read is in net/http's error, with its password.
func fromEnvironment(proxy func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(req *http.Request) (*url.URL, error) {
		u, err := proxy(req)
		if err != nil {
			return nil, errors.New("the address of the proxy in HTTPS_PROXY or HTTP_PROXY cannot be read")
		}
		return u, nil
	}
}
