"""Web Push by hand, for the tests of `lull mock`: RFC 8291 and RFC 8292 from their texts, sharing no
code with Lull. P-256 in plain integers, AES from libcrypto by ctypes."""

import base64
import ctypes
import ctypes.util
import hashlib
import hmac
import json
import os
import secrets
import time

P = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffff
N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551
G = (0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296,
     0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5)


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % P == 0:
            return None
        slope = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def times(scalar, point):
    total = None
    while scalar:
        total = add(total, point) if scalar & 1 else total
        point = add(point, point)
        scalar >>= 1
    return total


def point_bytes(point):
    return b"\x04" + point[0].to_bytes(32, "big") + point[1].to_bytes(32, "big")


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def hkdf(salt, secret, info, length):
    key = hmac.new(salt, secret, hashlib.sha256).digest()
    return hmac.new(key, info + b"\x01", hashlib.sha256).digest()[:length]


def aes_gcm(key, nonce, text):
    crypto = ctypes.CDLL(ctypes.util.find_library("crypto"))
    for name in ("EVP_CIPHER_CTX_new", "EVP_aes_128_gcm"):
        getattr(crypto, name).restype = ctypes.c_void_p
    context = ctypes.c_void_p(crypto.EVP_CIPHER_CTX_new())
    out, tag = ctypes.create_string_buffer(len(text) + 16), ctypes.create_string_buffer(16)
    length = ctypes.c_int()
    assert crypto.EVP_EncryptInit_ex(context, ctypes.c_void_p(crypto.EVP_aes_128_gcm()), None, key,
                                     nonce) == 1
    assert crypto.EVP_EncryptUpdate(context, out, ctypes.byref(length), text, len(text)) == 1
    assert crypto.EVP_EncryptFinal_ex(context, tag, ctypes.byref(length)) == 1
    assert crypto.EVP_CIPHER_CTX_ctrl(context, 0x10, 16, tag) == 1  # EVP_CTRL_AEAD_GET_TAG
    crypto.EVP_CIPHER_CTX_free(context)
    return out.raw[:len(text)] + tag.raw


def encrypt(subscription, text, padding=0):
    """The body of a push to a subscription, as PushSubscription.toJSON() has it."""
    receiver = decode(subscription["keys"]["p256dh"])
    auth = decode(subscription["keys"]["auth"])
    there = (int.from_bytes(receiver[1:33], "big"), int.from_bytes(receiver[33:], "big"))
    private = secrets.randbelow(N - 1) + 1
    public = point_bytes(times(private, G))
    shared = times(private, there)[0].to_bytes(32, "big")
    secret = hkdf(auth, shared, b"WebPush: info\x00" + receiver + public, 32)
    salt = os.urandom(16)
    key = hkdf(salt, secret, b"Content-Encoding: aes128gcm\x00", 16)
    nonce = hkdf(salt, secret, b"Content-Encoding: nonce\x00", 12)
    return (salt + (4096).to_bytes(4, "big") + bytes([len(public)]) + public +
            aes_gcm(key, nonce, text + b"\x02" + bytes(padding)))


class Sender:
    """A VAPID key."""

    def __init__(self):
        self.private = secrets.randbelow(N - 1) + 1
        self.public = encode(point_bytes(times(self.private, G)))

    def authorization(self, origin, expires_s=3600, subject="mailto:ops@example.com", **changes):
        claims = {"aud": origin, "exp": int(time.time()) + expires_s, "sub": subject, **changes}
        text = ".".join(encode(json.dumps(part).encode())
                        for part in ({"typ": "JWT", "alg": "ES256"}, claims))
        digest = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
        once = secrets.randbelow(N - 1) + 1
        r = times(once, G)[0] % N
        s = pow(once, -1, N) * (digest + r * self.private) % N
        token = f"{text}.{encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
        return f"vapid t={token}, k={self.public}"
