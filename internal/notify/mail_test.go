package notify_test

import (
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
)

// postOffice is a real mail server. It accepts one user, and answers as its fields say.
type postOffice struct {
	mu       sync.Mutex
	mailErrs []error // of MAIL, one after the other
	rcptErr  map[string]error
	dataErr  error
	authErr  error
	hangUp   bool // after the message, instead of an answer
	calls    int  // connections
	users    []string
	got      []letterSent
}

type letterSent struct {
	from, text string
	to         []string
}

type postSession struct {
	office *postOffice
	conn   *smtp.Conn
	now    letterSent
}

// NewSession implements smtp.Backend.
func (o *postOffice) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &postSession{office: o, conn: c}, nil
}

// AuthMechanisms implements smtp.AuthSession.
func (s *postSession) AuthMechanisms() []string { return []string{sasl.Plain} }

// Auth implements smtp.AuthSession.
func (s *postSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		s.office.mu.Lock()
		defer s.office.mu.Unlock()
		if s.office.authErr != nil {
			return s.office.authErr
		}
		if user != "robot" || password != "hunter2" {
			return smtp.ErrAuthFailed
		}
		_, encrypted := s.conn.TLSConnectionState()
		if !encrypted {
			return errors.New("not encrypted")
		}
		s.office.users = append(s.office.users, user)
		return nil
	}), nil
}

// Mail implements smtp.Session.
func (s *postSession) Mail(from string, _ *smtp.MailOptions) error {
	s.office.mu.Lock()
	defer s.office.mu.Unlock()
	if errs := s.office.mailErrs; len(errs) > 0 {
		s.office.mailErrs = errs[1:]
		if errs[0] != nil {
			return errs[0]
		}
	}
	s.now = letterSent{from: from}
	return nil
}

// Rcpt implements smtp.Session.
func (s *postSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.now.to = append(s.now.to, to)
	return s.office.rcptErr[to]
}

// Data implements smtp.Session.
func (s *postSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.office.mu.Lock()
	defer s.office.mu.Unlock()
	if s.office.dataErr != nil {
		return s.office.dataErr
	}
	s.now.text = string(text)
	s.office.got = append(s.office.got, s.now)
	if s.office.hangUp {
		s.office.hangUp = false
		return s.conn.Close()
	}
	return nil
}

// Reset implements smtp.Session.
func (*postSession) Reset() {}

// Logout implements smtp.Session.
func (*postSession) Logout() error { return nil }

// open starts the server and returns the mail that goes through it. encryption is what the
// server has: StartTLS, FullTLS or NoTLS.
func (o *postOffice) open(t *testing.T, encryption string) notify.Mail {
	t.Helper()
	secure := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer secure.Close()
	s := smtp.NewServer(o)
	s.Domain, s.AllowInsecureAuth = "127.0.0.1", true
	s.ErrorLog = silence{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	own := &tls.Config{Certificates: secure.TLS.Certificates}
	port := portOf(listener)
	listener = countedListener{listener, o}
	switch encryption {
	case notify.StartTLS:
		s.TLSConfig = own
	case notify.FullTLS:
		listener = tls.NewListener(listener, own)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	t.Cleanup(func() {
		_ = s.Close()
		<-served
	})
	return notify.Mail{Host: "127.0.0.1", Port: port, TLS: encryption, From: "Robot <robot@example.com>", To: []string{"a@example.com", "b@example.com"},
		Trust: secure.Client().Transport.(*http.Transport).TLSClientConfig}
}

// silence is a log that nobody reads.
type silence struct{}

// Printf implements smtp.Logger.
func (silence) Printf(string, ...any) {}

// Println implements smtp.Logger.
func (silence) Println(...any) {}

// countedListener counts the connections of a server.
type countedListener struct {
	net.Listener
	office *postOffice
}

// Accept implements net.Listener.
func (l countedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.office.mu.Lock()
		defer l.office.mu.Unlock()
		l.office.calls++
	}
	return conn, err
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

func deliver(t *testing.T, m notify.Mail, message notify.Message) error {
	t.Helper()
	return sender(patient).Deliver(t.Context(), notify.Channel{Kind: notify.Email, Mail: m}, message)
}

func TestEmailArrives(t *testing.T) {
	t.Parallel()
	for _, encryption := range []string{notify.StartTLS, notify.FullTLS, notify.NoTLS} {
		t.Run(encryption, func(t *testing.T) {
			t.Parallel()
			office := &postOffice{}
			m := office.open(t, encryption)
			if encryption != notify.NoTLS {
				m.User, m.Password = "robot", "hunter2"
			}
			if err := deliver(t, m, letter()); err != nil {
				t.Fatal(err)
			}
			if len(office.got) != 1 || (len(office.users) == 1) != (m.User != "") {
				t.Fatalf("%d letters, logged in %q", len(office.got), office.users)
			}
			checkLetter(t, office.got[0])
		})
	}
}

func checkLetter(t *testing.T, got letterSent) {
	t.Helper()
	if got.from != "robot@example.com" || strings.Join(got.to, " ") != "a@example.com b@example.com" {
		t.Errorf("from %s to %q", got.from, got.to)
	}
	m, err := mail.ReadMessage(strings.NewReader(got.text))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Subject": "placementsync: bills: 2 new findings", "From": `"Robot" <robot@example.com>`, "Message-Id": "<0123abcd@placementsync.invalid>",
		"Auto-Submitted": "auto-generated",
	} {
		decoded, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get(name))
		if decoded != want || err != nil || len(m.Header[name]) != 1 {
			t.Errorf("%s is %q, want %q", name, m.Header[name], want)
		}
	}
	if kind, _, err := mime.ParseMediaType(m.Header.Get("Content-Type")); kind != "text/plain" || err != nil {
		t.Errorf("it is %s (%v)", kind, err)
	}
	if at, err := m.Header.Date(); err != nil || time.Since(at).Abs() > time.Hour {
		t.Errorf("its date is %s (%v)", at, err)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if got := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")); err != nil || got != letter().Text {
		t.Errorf("its text is %q (%v)", got, err)
	}
}

// TestNothingOfAMessageIsAHeader: a subject and a text with line ends add no header and no
// recipient.
func TestNothingOfAMessageIsAHeader(t *testing.T) {
	t.Parallel()
	office := &postOffice{}
	m := letter()
	m.Subject = "x\r\nBcc: all@example.com\r\n\r\n<b>"
	m.Text = "\r\n.\r\nMAIL FROM:<evil@example.com>\r\nBcc: all@example.com"
	if err := deliver(t, office.open(t, notify.NoTLS), m); err != nil {
		t.Fatal(err)
	}
	got, err := mail.ReadMessage(strings.NewReader(office.got[0].text))
	if err != nil {
		t.Fatal(err)
	}
	if got.Header.Get("Bcc") != "" || len(office.got) != 1 || len(office.got[0].to) != 2 {
		t.Errorf("headers %v, recipients %q", got.Header, office.got[0].to)
	}
}

// TestMailServersThatFail: each fails in its way, in bounded time; nobody gets part of a
// message, and no error shows a password.
func TestMailServersThatFail(t *testing.T) {
	t.Parallel()
	busy := &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "later, hunter2"}
	full := &smtp.SMTPError{Code: 552, EnhancedCode: smtp.EnhancedCode{5, 2, 2}, Message: "full, hunter2"}
	for name, c := range map[string]struct {
		office     *postOffice
		has, wants string // encryption
		change     func(*notify.Mail)
		calls      int
		letters    int
		fails      string
	}{
		"busy, then not":   {office: &postOffice{mailErrs: []error{busy, busy}}, has: notify.StartTLS, calls: 3, letters: 1},
		"busy":             {office: &postOffice{mailErrs: []error{busy, busy, busy}}, has: notify.StartTLS, calls: 3, fails: "the mail server answered 451"},
		"full":             {office: &postOffice{dataErr: full}, has: notify.StartTLS, calls: 1, fails: "the mail server answered 552"},
		"one is refused":   {office: &postOffice{rcptErr: map[string]error{"b@example.com": full}}, has: notify.StartTLS, calls: 1, fails: "the mail server answered 552"},
		"a wrong password": {office: &postOffice{authErr: &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "no user with hunter2"}}, has: notify.StartTLS, calls: 1, fails: "the mail server answered 535 before the message: look at user, password and tls"},
		"no encryption":    {office: &postOffice{}, has: notify.NoTLS, wants: notify.StartTLS, calls: 3, fails: "reach the mail server: "},
		"no TLS":           {office: &postOffice{}, has: notify.NoTLS, wants: notify.FullTLS, fails: "reach the mail server: tls: "},
		"an unknown name":  {office: &postOffice{}, has: notify.FullTLS, change: func(m *notify.Mail) { m.Trust = nil }, fails: "reach the mail server: tls: failed to verify certificate"},
		"hangs up at once": {office: &postOffice{hangUp: true}, has: notify.StartTLS, calls: 2, letters: 2},
		"nobody is there":  {office: &postOffice{}, has: notify.StartTLS, change: func(m *notify.Mail) { m.Port = 1 }, fails: "reach the mail server: dial tcp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := c.office.open(t, c.has)
			if c.has != notify.NoTLS {
				m.User, m.Password = "robot", "hunter2"
			}
			if c.wants != "" {
				m.TLS = c.wants
			}
			if c.change != nil {
				c.change(&m)
			}
			err := deliver(t, m, letter())
			if refused := errors.As(err, new(*notify.RefusedError)); refused != strings.HasSuffix(c.fails, "552") {
				t.Errorf("refused is %t (%v)", refused, err)
			}
			if (err == nil) != (c.fails == "") || err != nil && (!strings.HasPrefix(err.Error(), c.fails) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("got %v, want %q", err, c.fails)
			}
			c.office.mu.Lock()
			defer c.office.mu.Unlock()
			if c.calls > 0 && c.office.calls != c.calls || len(c.office.got) != c.letters {
				t.Errorf("%d calls and %d letters, want %d and %d", c.office.calls, len(c.office.got), c.calls, c.letters)
			}
		})
	}
}

// TestAMailServerThatHangsIsLeft: before its greeting, or with a greeting that never ends.
func TestAMailServerThatHangsIsLeft(t *testing.T) {
	t.Parallel()
	for name, greeting := range map[string]string{"silent": "", "half a line": "220 mail", "other words": "HTTP/1.1 400 hunter2\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			held := make(chan struct{})
			go func() {
				defer close(held)
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = io.WriteString(conn, greeting)
					_, _ = io.Copy(io.Discard, conn) // until the client leaves
					_ = conn.Close()
				}
			}()
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			m := notify.Mail{Host: "127.0.0.1", Port: portOf(listener), TLS: notify.StartTLS, User: "robot", Password: "hunter2", From: "a@example.com", To: []string{"b@example.com"}}
			err = sender(hasty).Deliver(ctx, notify.Channel{Kind: notify.Email, Mail: m}, letter())
			if err == nil || !strings.HasPrefix(err.Error(), "reach the mail server: ") || strings.Contains(err.Error(), "hunter2") || ctx.Err() != nil {
				t.Errorf("got %v", err)
			}
			_ = listener.Close()
			<-held
		})
	}
}
