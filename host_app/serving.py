"""How gunicorn serves us: `gunicorn --config python:host_app.serving 'host_app:create_app()'`.

Names are those of gunicorn's settings; it ignores the ones its version does not know.
"""

# Browsers open connections ahead of need. A worker without threads waits on such a one, idle,
# while others queue.
worker_class = "gthread"
workers = 2
threads = 4

# Bytes. An authorization request travels in the address, and again inside that of the sign-in
# page; gunicorn's own default is half of this, its greatest value.
limit_request_line = 8190

# A socket in the home directory by which commands could reach the server; we have none.
control_socket_disable = True
