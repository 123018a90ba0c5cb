from fastapi import FastAPI
from starlette.middleware.sessions import SessionMiddleware

server = FastAPI()
server.add_middleware(SessionMiddleware, secret_key="signs the sessions of this example")


@server.post("/seed_session")
async def seed_session() -> dict:
    return {}


@server.post("/verify")
async def verify() -> dict:
    return {"reward": 1.0}


@server.post("/search")
async def search(body: dict) -> dict:
    """Search the notes."""
    return body
