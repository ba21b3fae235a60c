package notify_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"placementsync/internal/notify"
	"placementsync/internal/testing/harness"
)

// mailServer is a real SMTP server. It accepts the user "robot". It returns the errors in its fields.
type mailServer struct {
	mu       sync.Mutex
	mailErrs []error          // errors of successive MAIL commands
	rcptErr  map[string]error // of RCPT, by recipient
	dataErr  error
	authErr  error
	hangUps  int  // this often, closes the connection instead of confirming a message
	hasHaste bool // closes the connection after the confirmation
	// mechanism is the offered mechanism of a login, PLAIN by default.
	mechanism string
	conns     int
	logins    []string // users
	received  []receivedMail
}

type receivedMail struct {
	from, text string
	to         []string
}

type mailSession struct {
	server  *mailServer
	conn    *smtp.Conn
	current receivedMail
}

var (
	_ smtp.Backend     = (*mailServer)(nil)
	_ smtp.AuthSession = (*mailSession)(nil)
)

func (m *mailServer) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &mailSession{server: m, conn: c}, nil
}

func (s *mailSession) AuthMechanisms() []string {
	return []string{cmp.Or(s.server.mechanism, sasl.Plain)}
}

// loginServer is the server of the mechanism LOGIN.
type loginServer struct {
	check func(identity, user, password string) error
	step  int
	user  string
}

func (l *loginServer) Next(response []byte) (challenge []byte, done bool, err error) {
	l.step++
	switch l.step {
	case 1:
		return []byte("Username:"), false, nil
	case 2:
		l.user = string(response)
		return []byte("Password:"), false, nil
	}
	return nil, true, l.check("", l.user, string(response))
}

func (s *mailSession) Auth(mechanism string) (sasl.Server, error) {
	check := func(_, user, password string) error {
		s.server.mu.Lock()
		defer s.server.mu.Unlock()
		if s.server.authErr != nil {
			return s.server.authErr
		}
		if user != "robot" || password != "hunter2" {
			return smtp.ErrAuthFailed
		}
		_, encrypted := s.conn.TLSConnectionState()
		if !encrypted {
			return errors.New("not encrypted")
		}
		s.server.logins = append(s.server.logins, user)
		return nil
	}
	if mechanism == sasl.Login {
		return &loginServer{check: check}, nil
	}
	return sasl.NewPlainServer(check), nil
}

func (s *mailSession) Mail(from string, _ *smtp.MailOptions) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if errs := s.server.mailErrs; len(errs) > 0 {
		s.server.mailErrs = errs[1:]
		if errs[0] != nil {
			return errs[0]
		}
	}
	s.current = receivedMail{from: from}
	return nil
}

func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.current.to = append(s.current.to, to)
	return s.server.rcptErr[to]
}

func (s *mailSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.server.dataErr != nil {
		return s.server.dataErr
	}
	s.current.text = string(text)
	s.server.received = append(s.server.received, s.current)
	if s.server.hangUps > 0 {
		s.server.hangUps--
		return s.conn.Close()
	}
	return nil
}

func (s *mailSession) Reset() {
	if s.server.hasHaste && s.current.text != "" {
		_ = s.conn.Conn().Close()
	}
}

func (*mailSession) Logout() error { return nil }

// start starts the server with one of StartTLS, FullTLS and NoTLS, and returns the options
// of a client.
func (m *mailServer) start(t *testing.T, encryption string) notify.Mail {
	t.Helper()
	secure := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer secure.Close()
	s := smtp.NewServer(m)
	s.Domain, s.AllowInsecureAuth = "127.0.0.1", true
	s.ErrorLog = discardLog{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	serverTLS := &tls.Config{Certificates: secure.TLS.Certificates}
	port := portOf(listener)
	listener = countingListener{listener, m}
	switch encryption {
	case notify.StartTLS:
		s.TLSConfig = serverTLS
	case notify.FullTLS:
		listener = tls.NewListener(listener, serverTLS)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	t.Cleanup(func() {
		// If no client connected, Serve may not have registered the listener yet, and Close would not close it.
		_ = errors.Join(s.Close(), listener.Close())
		<-served
	})
	return notify.Mail{Host: "127.0.0.1", Port: port, TLS: encryption, From: "Robot <robot@example.com>", To: []string{"a@example.com", "b@example.com"},
		Trust: secure.Client().Transport.(*http.Transport).TLSClientConfig}
}

type discardLog struct{}

var _ smtp.Logger = discardLog{}

func (discardLog) Printf(string, ...any) {}

func (discardLog) Println(...any) {}

// countingListener counts the connections of a server.
type countingListener struct {
	net.Listener
	server *mailServer
}

func (l countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.server.mu.Lock()
		defer l.server.mu.Unlock()
		l.server.conns++
	}
	return conn, err
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

func deliver(t *testing.T, m notify.Mail, message notify.Message) error {
	t.Helper()
	return newNotifier(longTimeout).Deliver(t.Context(), notify.Channel{Kind: notify.Email, Mail: m}, message)
}

func TestEmailArrives(t *testing.T) {
	t.Parallel()
	for _, encryption := range []string{notify.StartTLS, notify.FullTLS, notify.NoTLS} {
		t.Run(encryption, func(t *testing.T) {
			t.Parallel()
			server := &mailServer{}
			m := server.start(t, encryption)
			if encryption != notify.NoTLS {
				m.User, m.Password = "robot", "hunter2"
			}
			harness.Must(t, deliver(t, m, testMessage()))
			if len(server.received) != 1 || (len(server.logins) == 1) != (m.User != "") {
				t.Fatalf("received %d e-mails with the logins %q, want one e-mail, and one login if the connection is encrypted", len(server.received), server.logins)
			}
			checkMail(t, server.received[0])
		})
	}
}

func checkMail(t *testing.T, got receivedMail) {
	t.Helper()
	if got.from != "robot@example.com" || strings.Join(got.to, " ") != "a@example.com b@example.com" {
		t.Errorf("the envelope is from %s to %q, want from robot@example.com to a@example.com and b@example.com", got.from, got.to)
	}
	m, err := mail.ReadMessage(strings.NewReader(got.text))
	harness.Must(t, err)
	for name, want := range map[string]string{
		"Subject": "placementsync: bills: 2 new findings", "From": `"Robot" <robot@example.com>`, "Message-Id": "<0123abcd@placementsync.invalid>",
		"Auto-Submitted": "auto-generated",
	} {
		decoded, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get(name))
		if decoded != want || err != nil || len(m.Header[name]) != 1 {
			t.Errorf("header %s is %q, want %q", name, m.Header[name], want)
		}
	}
	if agent := m.Header.Get("User-Agent") + m.Header.Get("X-Mailer"); agent != "" {
		t.Errorf("the e-mail names the program %q, want no version of a library in it", agent)
	}
	if kind, _, err := mime.ParseMediaType(m.Header.Get("Content-Type")); kind != "text/plain" || err != nil {
		t.Errorf("content type is %s (%v), want text/plain", kind, err)
	}
	if at, err := m.Header.Date(); err != nil || time.Since(at).Abs() > time.Hour {
		t.Errorf("date is %s (%v), want a time within an hour of now", at, err)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if got := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")); err != nil || got != testMessage().Text {
		t.Errorf("text is %q (%v), want %q", got, err, testMessage().Text)
	}
}

// TestMailHeadersCannotBeInjected sends a subject and a text with line ends.
func TestMailHeadersCannotBeInjected(t *testing.T) {
	t.Parallel()
	server := &mailServer{}
	m := testMessage()
	m.Subject = "x\r\nBcc: all@example.com\r\n\r\n<b>"
	m.Text = "\r\n.\r\nMAIL FROM:<evil@example.com>\r\nBcc: all@example.com"
	harness.Must(t, deliver(t, server.start(t, notify.NoTLS), m))
	got, err := mail.ReadMessage(strings.NewReader(server.received[0].text))
	harness.Must(t, err)
	if got.Header.Get("Bcc") != "" || len(server.received) != 1 || len(server.received[0].to) != 2 {
		t.Errorf("got the headers %v and the recipients %q, want no Bcc and two recipients", got.Header, server.received[0].to)
	}
}

// TestDeliverToFailingMailServers checks that each kind of failure ends in bounded time,
// without a partial message, and with an error that does not contain the password.
func TestDeliverToFailingMailServers(t *testing.T) {
	t.Parallel()
	busy := &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "later, hunter2"}
	unknown := &smtp.SMTPError{Code: 500, EnhancedCode: smtp.EnhancedCode{5, 5, 2}, Message: "what is hunter2?"}
	locked := &smtp.SMTPError{Code: 454, EnhancedCode: smtp.EnhancedCode{4, 7, 0}, Message: "later, hunter2"}
	full := &smtp.SMTPError{Code: 552, EnhancedCode: smtp.EnhancedCode{5, 2, 2}, Message: "full, hunter2"}
	for name, c := range map[string]struct {
		server            *mailServer
		offered, required string // encryption of server and client; an empty required equals offered
		change            func(*notify.Mail)
		wantConns         int // 0 means any number
		wantMails         int
		wantErr           string // beginning of the error
		isRefused         bool   // the error is a RefusedError
	}{
		"busy twice, then ready": {server: &mailServer{mailErrs: []error{busy, busy}}, offered: notify.StartTLS, wantConns: 3, wantMails: 1},
		"always busy": {server: &mailServer{mailErrs: []error{busy, busy, busy}}, offered: notify.StartTLS, wantConns: 3,
			wantErr: "the mail server returned 451: "},
		"mailbox full": {server: &mailServer{dataErr: full}, offered: notify.StartTLS, wantConns: 1, wantErr: "the mail server returned 552", isRefused: true},
		"one recipient rejected": {server: &mailServer{rcptErr: map[string]error{"b@example.com": unknown}}, offered: notify.StartTLS, wantConns: 1,
			wantErr: "the mail server returned 500: ", isRefused: true},
		"login not known": {server: &mailServer{authErr: unknown}, offered: notify.StartTLS, wantConns: 1,
			wantErr: "the mail server returned 500 before the message was sent: "},
		"login not possible now": {server: &mailServer{authErr: locked}, offered: notify.StartTLS, wantConns: 3,
			wantErr: "the mail server returned 454 before the message was sent: "},
		"wrong password":                 {server: &mailServer{authErr: &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "no user with hunter2"}}, offered: notify.StartTLS, wantConns: 1, wantErr: "the mail server returned 535 before the message was sent: check user, password and tls"},
		"no StartTLS":                    {server: &mailServer{}, offered: notify.NoTLS, required: notify.StartTLS, wantConns: 3, wantErr: "reach the mail server: "},
		"no FullTLS":                     {server: &mailServer{}, offered: notify.NoTLS, required: notify.FullTLS, wantErr: "reach the mail server: tls: "},
		"untrusted certificate":          {server: &mailServer{}, offered: notify.FullTLS, change: func(m *notify.Mail) { m.Trust = nil }, wantErr: "reach the mail server: tls: failed to verify certificate"},
		"closed before the confirmation": {server: &mailServer{hangUps: 1}, offered: notify.StartTLS, wantConns: 2, wantMails: 2},
		"always closed before the confirmation": {server: &mailServer{hangUps: 3}, offered: notify.StartTLS, wantConns: 3, wantMails: 3,
			wantErr: "reach the mail server: "},
		"closed after the confirmation": {server: &mailServer{hasHaste: true}, offered: notify.StartTLS, wantConns: 1, wantMails: 1},
		"only LOGIN":                    {server: &mailServer{mechanism: sasl.Login}, offered: notify.StartTLS, wantConns: 1, wantMails: 1},
		"StartTLS is offered to NoTLS": {server: &mailServer{}, offered: notify.StartTLS,
			required: notify.NoTLS, change: func(m *notify.Mail) { m.User, m.Trust = "", nil }, wantConns: 1, wantMails: 1},
		"no sender": {server: &mailServer{}, offered: notify.StartTLS,
			change: func(m *notify.Mail) { m.From = "" }, wantErr: "write the e-mail: "},
		"closed port": {server: &mailServer{}, offered: notify.StartTLS,
			change: func(m *notify.Mail) { m.Port = 1 }, wantErr: "reach the mail server: dial tcp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := c.server.start(t, c.offered)
			if c.offered != notify.NoTLS {
				m.User, m.Password = "robot", "hunter2"
			}
			if c.required != "" {
				m.TLS = c.required
			}
			if c.change != nil {
				c.change(&m)
			}
			err := deliver(t, m, testMessage())
			if isRefused := errors.As(err, new(*notify.RefusedError)); isRefused != c.isRefused {
				t.Errorf("got %v, a RefusedError: %t, want %t", err, isRefused, c.isRefused)
			}
			if (err == nil) != (c.wantErr == "") || err != nil && (!strings.HasPrefix(err.Error(), c.wantErr) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("got the error %v, want one that begins with %q", err, c.wantErr)
			}
			c.server.mu.Lock()
			defer c.server.mu.Unlock()
			if c.wantConns > 0 && c.server.conns != c.wantConns || len(c.server.received) != c.wantMails {
				t.Errorf("got %d connections and %d e-mails, want %d and %d", c.server.conns, len(c.server.received), c.wantConns, c.wantMails)
			}
		})
	}
}

// TestDeliveryEndsWithoutAnSMTPGreeting connects to servers that never complete an SMTP greeting.
func TestDeliveryEndsWithoutAnSMTPGreeting(t *testing.T) {
	t.Parallel()
	for name, greeting := range map[string]string{"no greeting": "", "half a line": "220 mail", "another protocol": "HTTP/1.1 400 hunter2\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			harness.Must(t, err)
			conns, closed := 0, make(chan struct{})
			go func() {
				defer close(closed)
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					conns++
					_, _ = io.WriteString(conn, greeting)
					_, _ = io.Copy(io.Discard, conn) // until the client disconnects
					_ = conn.Close()
				}
			}()
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			m := notify.Mail{Host: "127.0.0.1", Port: portOf(listener), TLS: notify.StartTLS, User: "robot", Password: "hunter2", From: "a@example.com", To: []string{"b@example.com"}}
			start := time.Now()
			err = newNotifier(shortTimeout).Deliver(ctx, notify.Channel{Kind: notify.Email, Mail: m}, testMessage())
			if err == nil || !strings.HasPrefix(err.Error(), "reach the mail server: ") || strings.Contains(err.Error(), "hunter2") || ctx.Err() != nil {
				t.Errorf("got %v, want an error that the mail server was not reached", err)
			}
			if took := time.Since(start); took < 3*3*shortTimeout && name != "another protocol" {
				t.Errorf("three attempts ended after %s, want three times the timeout for each, because a mail server may be slow", took)
			}
			_ = listener.Close()
			<-closed
			if conns != 3 {
				t.Errorf("the client connected %d times, want three attempts", conns)
			}
		})
	}
}
