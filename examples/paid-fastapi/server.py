import os
import re

import uvicorn
from fastapi import FastAPI
from x402.http import HTTPFacilitatorClient, PaymentOption, RouteConfig
from x402.http.middleware.fastapi import payment_middleware
from x402.mechanisms.evm.exact.server import ExactEvmScheme
from x402.server import x402ResourceServer

PAY_TO = os.environ["PAY_TO"]
if not re.fullmatch("0x[0-9a-fA-F]{40}", PAY_TO):
    raise SystemExit("PAY_TO must be the address that receives payments: 0x and 40 hex digits")
key = {"X-Client-ID": os.environ["CLIENT_ID"], "X-Client-Token": os.environ["CLIENT_TOKEN"]}
facilitator = HTTPFacilitatorClient(
    {
        "url": f"{os.environ['FACILITATOR']}/api/v2",
        "create_headers": lambda: {"verify": key, "settle": key, "supported": key},
    }
)
server = x402ResourceServer(facilitator).register("eip155:84532", ExactEvmScheme())
option = PaymentOption(
    scheme="exact", price="$0.01", network="eip155:84532", pay_to=PAY_TO
)

app = FastAPI()
app.middleware("http")(
    payment_middleware({"GET /weather": RouteConfig(accepts=[option], description="The weather")}, server)
)


@app.get("/weather")
async def weather() -> dict[str, str]:
    return {"weather": "sunny"}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "4021")))
