"""Terminates TLS in front of a plain HTTP server: tls.py CERT KEY LISTEN_PORT SERVER_PORT, on loopback.

For try.sh, which needs a server with an untrusted certificate.
"""

import socket
import ssl
import sys
import threading


def pump(source, sink):
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(plain, context, port):
    try:
        client = context.wrap_socket(plain, server_side=True)
        server = socket.create_connection(("127.0.0.1", port))
    except OSError:  # the client rejected the certificate
        plain.close()
        return
    threading.Thread(target=pump, args=(client, server), daemon=True).start()
    pump(server, client)


def main():
    cert, key, listen_port, server_port = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    listener = socket.create_server(("127.0.0.1", int(listen_port)))
    print("listening", flush=True)
    while True:
        plain, _ = listener.accept()
        threading.Thread(target=serve, args=(plain, context, int(server_port)), daemon=True).start()


main()
