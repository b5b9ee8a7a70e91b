//! The x402-rs facilitator for one EVM chain: the endpoints and the settlement of its library, without telemetry.
//! Arguments: the JSON of the chain's settings as x402-rs defines them, and its CAIP-2 chain ID. Prints its port.

use serde_json::Value;
use std::{collections::HashMap, env, error::Error, sync::Arc};
use tokio::net::TcpListener;
use x402_chain_eip155::V2Eip155Exact;
use x402_chain_eip155::chain::Eip155ChainProvider;
use x402_chain_eip155::chain::config::Eip155ChainConfig;
use x402_facilitator_local::{FacilitatorLocal, handlers};
use x402_types::chain::{ChainId, ChainProviderOps, ChainRegistry, FromConfig};
use x402_types::scheme::{
    SchemeBlueprints, SchemeConfig, SchemeRegistry, X402SchemeFacilitator, X402SchemeFacilitatorBuilder, X402SchemeId,
};

type Chain = Arc<Eip155ChainProvider>;

struct Exact;

impl X402SchemeId for Exact {
    fn namespace(&self) -> &str {
        V2Eip155Exact.namespace()
    }
    fn scheme(&self) -> &str {
        V2Eip155Exact.scheme()
    }
}

impl X402SchemeFacilitatorBuilder<&Chain> for Exact {
    fn build(&self, chain: &Chain, config: Option<Value>) -> Result<Box<dyn X402SchemeFacilitator>, Box<dyn Error>> {
        V2Eip155Exact.build(Arc::clone(chain), config)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [settings, chain_id] = [1, 2].map(|index| env::args().nth(index).expect("two arguments"));
    let chain_id: ChainId = chain_id.parse()?;
    let config = Eip155ChainConfig {
        chain_reference: chain_id.try_into()?,
        inner: serde_json::from_str(&settings)?,
    };
    let chain: Chain = Arc::new(Eip155ChainProvider::from_config(&config).await?);
    let chains = ChainRegistry::new(HashMap::from([(chain.chain_id(), chain)]));
    let scheme: SchemeConfig = serde_json::from_str(r#"{ "id": "v2-eip155-exact", "chains": "eip155:*" }"#)?;
    let schemes = SchemeRegistry::build(chains, SchemeBlueprints::new().and_register(Exact), &vec![scheme]);

    let routes = handlers::routes().with_state(Arc::new(FacilitatorLocal::new(schemes)));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("listening on {}", listener.local_addr()?.port());
    axum::serve(listener, routes).await?;
    Ok(())
}
