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
	StartTLS = "starttls" // required, not opportunistic
	FullTLS  = "tls"      // from the first byte
	NoTLS    = "none"
)

// Mail is a mail server with the sender and the recipients of the e-mails.
type Mail struct {
	Host string
	// Port 0 means 587 with StartTLS, 465 with FullTLS and 25 with NoTLS.
	Port  int
	TLS   string
	Trust *tls.Config // trusted certificates; nil means those of the system
	// An empty User means no login.
	User, Password string
	From           string
	To             []string
}

// mailTimeoutFactor multiplies the timeout for an e-mail, because a mail server may query other
// servers before it accepts a message.
const mailTimeoutFactor = 3

// mailOnce makes one attempt to send an e-mail. The error contains the code of the server's reply,
// but not the text of the reply, because a server can repeat the password in it.
func (n *Notifier) mailOnce(ctx context.Context, c Mail, m Message) (isTransient bool, err error) {
	email, err := newEmail(c, m)
	if err != nil {
		return false, err
	}
	timeout := mailTimeoutFactor * n.cfg.Timeout
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	client, err := c.newClient(ctx, timeout)
	if err != nil {
		return false, fmt.Errorf("prepare the e-mail: %w", err)
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err == nil {
		err = client.SendWithSMTPClient(session, email)
	}
	if email.IsDelivered() { // later errors do not matter
		_ = client.CloseWithSMTPClient(session)
		return false, nil
	}
	return mailErr(ctx, err)
}

// newEmail returns the e-mail of a message. The headers, including the subject, contain no untrusted text.
func newEmail(c Mail, m Message) (*mail.Msg, error) {
	email := mail.NewMsg(mail.WithNoDefaultUserAgent())
	err := email.From(c.From)
	if err == nil {
		err = email.To(c.To...)
	}
	if err != nil {
		return nil, fmt.Errorf("write the e-mail: %w: correct the addresses in the configuration", err)
	}
	email.Subject(m.Subject)
	email.SetMessageIDWithValue(m.ID + "@placementsync.invalid")
	email.SetGenHeader("Auto-Submitted", "auto-generated") // prevents automatic replies
	email.SetBodyString(mail.TypeTextPlain, m.Text)
	return email, nil
}

// newClient returns a client whose connection is closed when ctx is done. The library ignores
// the context once it is connected, and does not close the connection when the server rejects
// a login.
func (c Mail) newClient(ctx context.Context, timeout time.Duration) (*mail.Client, error) {
	tlsConfig := &tls.Config{} // TLS 1.2 or later
	if c.Trust != nil {
		tlsConfig = c.Trust.Clone()
	}
	tlsConfig.ServerName = c.Host
	dial := func(dialCtx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(dialCtx, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		if c.TLS != FullTLS { // the library handles encryption
			return conn, nil
		}
		secure := tls.Client(conn, tlsConfig)
		if err := secure.HandshakeContext(dialCtx); err != nil {
			return nil, err
		}
		return secure, nil
	}
	options := []mail.Option{mail.WithTimeout(timeout), mail.WithTLSConfig(tlsConfig), mail.WithDialContextFunc(dial)}
	port := mail.DefaultPortTLS
	switch c.TLS {
	case FullTLS:
		port = mail.DefaultPortSSL
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

// mailErr replaces an error of the library by an error without the text of the server.
func mailErr(ctx context.Context, err error) (isTransient bool, _ error) {
	code := 0
	var sendErr *mail.SendError
	var replyErr *textproto.Error
	switch {
	case errors.As(err, &sendErr):
		code = sendErr.ErrorCode()
	case errors.As(err, &replyErr):
		code = replyErr.Code
	}
	const firstTransient, firstPermanent = 400, 500
	switch {
	case ctx.Err() != nil:
		return true, fmt.Errorf("reach the mail server: %w", context.Cause(ctx))
	case sendErr != nil && code >= firstPermanent:
		return false, &RefusedError{fmt.Sprintf("the mail server returned %d: %s", code, sendErr.Reason)}
	case sendErr != nil && code >= firstTransient:
		return true, fmt.Errorf("the mail server returned %d: %s", code, sendErr.Reason)
	case code >= firstTransient:
		return code < firstPermanent, fmt.Errorf("the mail server returned %d before the message was sent: check user, password and tls", code)
	case errors.As(err, new(textproto.ProtocolError)):
		return true, errors.New("reach the mail server: it does not use SMTP: check host, port and tls")
	}
	return true, fmt.Errorf("reach the mail server: %w", err)
}
