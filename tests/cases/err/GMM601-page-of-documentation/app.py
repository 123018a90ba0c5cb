from fastapi import FastAPI
from starlette.middleware.sessions import SessionMiddleware

app = FastAPI()
app.add_middleware(SessionMiddleware, secret_key="signs the sessions of this example")


@app.post("/seed_session")
async def seed_session() -> dict:
    return {}


@app.post("/verify")
async def verify() -> dict:
    return {"reward": 1.0}


@app.post("/search")
async def search(body: dict) -> dict:
    """Search the notes."""
    return body


@app.post("/browse")
async def browse(body: dict) -> dict:
    """Open a page."""
    return body
