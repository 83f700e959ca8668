/** A text that is kept in `secrets.yaml`, or taken from a variable of the environment at every start. */
export type Secret =
  { readonly from: "secrets"; readonly text: string } | { readonly from: "env"; readonly name: string };

export type CredentialAnswer =
  | { readonly type: "token"; readonly token: Secret }
  | { readonly type: "token_file"; readonly path: string }
  | {
      readonly type: "sign_in";
      /** The field names of the sign-in body are the platform's. */
      readonly accountField: string;
      readonly account: string;
      readonly passwordField: string;
      readonly password: Secret;
    };

export interface PlatformAnswer {
  readonly businessUrl: string;
  readonly realtimeUrl: string;
  readonly allowInsecure: boolean;
  readonly credential: CredentialAnswer;
}

export type BrokerAnswer =
  | { readonly type: "embedded" }
  | {
      readonly type: "external";
      readonly url: string;
      readonly username?: string;
      readonly password?: Secret;
    };

/** Everything a first configuration needs to know. */
export interface Answers {
  readonly platform: PlatformAnswer;
  readonly broker: BrokerAnswer;
}
