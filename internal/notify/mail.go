package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"time"

	"github.com/wneessen/go-mail"
)

// Encryption of the connection to a mail server.
const (
	StartTLS = "starttls" // the server has to offer it
	FullTLS  = "tls"      // from the first byte
	NoTLS    = "none"
)

// Mail is a mail server, and who gets what it sends.
type Mail struct {
	Host string
	// Port is 0 for that of TLS: 587, 465 or 25.
	Port int
	TLS  string
	// Trust has the certificates that are trusted; nil: those of the system.
	Trust *tls.Config
	// User and Password log in; empty: no login.
	User, Password string
	From           string
	To             []string
}

// mailPatience is how many times longer an e-mail may take than a request: a mail server
// asks others before it takes a message.
const mailPatience = 3

// mailOnce makes one attempt; again reports whether another one could help. The error has
// the number that the server answered, and none of its text, which may repeat what it was
// sent.
func (n *Notifier) mailOnce(ctx context.Context, c Mail, m Message) (again bool, err error) {
	message, err := newMail(c, m)
	if err != nil {
		return false, err
	}
	ctx, stop := context.WithTimeout(ctx, mailPatience*n.cfg.Timeout)
	defer stop()
	var line mailLine
	dial := func(inner context.Context, network, address string) (net.Conn, error) {
		return line.dial(ctx, inner, network, address)
	}
	client, err := c.newClient(&line, mailPatience*n.cfg.Timeout, mail.WithDialContextFunc(dial))
	if err != nil {
		return false, fmt.Errorf("prepare the e-mail: %w", err)
	}
	defer line.hangUp()
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err == nil {
		err = client.SendWithSMTPClient(session, message)
	}
	if message.IsDelivered() { // whatever came after that
		_ = client.CloseWithSMTPClient(session)
		return false, nil
	}
	return mailErr(ctx, err)
}

// newMail writes the e-mail. It has no value of the service in its head.
func newMail(c Mail, m Message) (*mail.Msg, error) {
	message := mail.NewMsg(mail.WithNoDefaultUserAgent())
	err := message.From(c.From)
	if err == nil {
		err = message.To(c.To...)
	}
	if err != nil {
		return nil, fmt.Errorf("write the e-mail: %w", err)
	}
	message.Subject(m.Subject)
	message.SetMessageIDWithValue(m.ID + "@placementsync.invalid")
	message.SetGenHeader("Auto-Submitted", "auto-generated") // no answer by machines
	message.SetBodyString(mail.TypeTextPlain, m.Text)
	return message, nil
}

// newClient makes a client whose connection is that of the line.
func (c Mail) newClient(line *mailLine, timeout time.Duration, options ...mail.Option) (*mail.Client, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.Trust != nil {
		trust = c.Trust.Clone()
	}
	trust.ServerName = c.Host
	options = append(options, mail.WithTimeout(timeout), mail.WithTLSConfig(trust))
	port := mail.DefaultPortTLS
	switch c.TLS {
	case FullTLS:
		port, line.encrypt = mail.DefaultPortSSL, trust
		options = append(options, mail.WithSSL())
	case NoTLS:
		port = mail.DefaultPort
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if c.User != "" {
		options = append(options, mail.WithUsername(c.User), mail.WithPassword(c.Password), mail.WithOpportunisticSMTPAuth(
			mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthSCRAMSHA1, mail.SMTPAuthPlain, mail.SMTPAuthLogin))
	}
	return mail.NewClient(c.Host, append(options, mail.WithPort(cmp.Or(c.Port, port)))...)
}

// mailLine is the connection of one attempt. The library leaves it open when the server
// refuses a login, and does not watch the context once it stands.
type mailLine struct {
	encrypt *tls.Config // nil: the library does it, or nobody
	conn    net.Conn
	release func() bool
}

// dial connects. The context of the attempt lasts as long as the connection, the other one
// until it stands.
func (l *mailLine) dial(attempt, ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.conn, l.release = conn, context.AfterFunc(attempt, func() { _ = conn.Close() })
	if l.encrypt == nil {
		return conn, nil
	}
	secure := tls.Client(conn, l.encrypt)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return secure, nil
}

func (l *mailLine) hangUp() {
	if l.conn != nil {
		l.release()
		_ = l.conn.Close()
	}
}

// mailErr says in our words why an e-mail was not taken.
func mailErr(ctx context.Context, err error) (again bool, _ error) {
	code := 0
	var failed *mail.SendError
	var answer *textproto.Error
	switch {
	case errors.As(err, &failed):
		code = failed.ErrorCode()
	case errors.As(err, &answer):
		code = answer.Code
	}
	const least, permanent = 400, 500
	switch {
	case ctx.Err() != nil:
		return true, fmt.Errorf("reach the mail server: %w", context.Cause(ctx))
	case failed != nil && code >= permanent:
		return false, &RefusedError{fmt.Sprintf("the mail server answered %d: %s", code, failed.Reason)}
	case failed != nil && code >= least:
		return true, fmt.Errorf("the mail server answered %d: %s", code, failed.Reason)
	case code >= least:
		return code < permanent, fmt.Errorf("the mail server answered %d before the message: look at user, password and tls", code)
	case errors.As(err, new(textproto.ProtocolError)):
		return true, errors.New("reach the mail server: it does not speak SMTP: look at host, port and tls")
	}
	return true, fmt.Errorf("reach the mail server: %w", err)
}
