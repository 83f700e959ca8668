/** Self-signed certificates for what must be refused; the keys guard nothing. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** For 127.0.0.1, valid in 2020 only. */
export const expired: Certificate = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBPTCB5aADAgECAgEBMAoGCCqGSM49BAMCMA8xDTALBgNVBAMMBHRlc3QwHhcN
MjAwMTAxMDAwMDAwWhcNMjEwMTAxMDAwMDAwWjAPMQ0wCwYDVQQDDAR0ZXN0MFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEj2kU/yDvsHZZ+nQulDns3SHBVrw+sV6
8oDNuzylbHm7TrLddbhMDT2pEueB9Rap5X+J6Koloein8ftPiM0EmqMyMDAwDwYD
VR0RBAgwBocEfwAAATAdBgNVHQ4EFgQU8v/Sfhu4L751Wk8TYqG+sxG2zsYwCgYI
KoZIzj0EAwIDRwAwRAIgN+jouBDz7V9CcJRrmsCoaDMDVq8Du0tRmvg0mgtV16YC
IGigPfGYpOcoIpN4QKRB/3sDtIah4Y+Y+JFbqGCxf7rx
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgbgVcaYjXL2dbVYTE
/R/apmAH0PzVvFYGibCtPrxKGx+hRANCAAQSPaRT/IO+wdln6dC6UOezdIcFWvD6
xXrygM27PKVsebtOst11uEwNPakS54H1Fqnlf4noqiWh6Kfx+0+IzQSa
-----END PRIVATE KEY-----
`,
};

/** For the name other.example, valid until 2120. */
export const forOtherName: Certificate = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBSTCB8KADAgECAgECMAoGCCqGSM49BAMCMA8xDTALBgNVBAMMBHRlc3QwIBcN
MjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMA8xDTALBgNVBAMMBHRlc3Qw
WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAT5ggM5ZmOysjo0edQxCHuTCGEvH+hh
j6wmBeJsaGsVIkGXdCupZyQ/h3idVuPAY70Lh5ro+YugK0gO65gQkTwQozswOTAY
BgNVHREEETAPgg1vdGhlci5leGFtcGxlMB0GA1UdDgQWBBSX3Z6CWK+74lNqmyxD
99wNqc4CVjAKBggqhkjOPQQDAgNIADBFAiBNMJvdVuPLJZbrtXiLr56EOJ+sAU09
cxER+HGoT6OEtAIhALnWGVKZ1GLk+hzTF1SwyJEcn/h4uBzsg3MDXR3IhZtU
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgwlqKw3VAXJo562Oc
FyC6CXxvN4mV2+gvIauFOeIh0XOhRANCAAT5ggM5ZmOysjo0edQxCHuTCGEvH+hh
j6wmBeJsaGsVIkGXdCupZyQ/h3idVuPAY70Lh5ro+YugK0gO65gQkTwQ
-----END PRIVATE KEY-----
`,
};
