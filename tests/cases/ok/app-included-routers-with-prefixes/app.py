from fastapi import APIRouter, FastAPI
from starlette.middleware.sessions import SessionMiddleware

app = FastAPI()
app.add_middleware(SessionMiddleware, secret_key="signs the sessions of this example")


@app.post("/seed_session")
async def seed_session() -> dict:
    return {}


@app.post("/verify")
async def verify() -> dict:
    return {"reward": 1.0}


inner = APIRouter(prefix="/notes")


@inner.post("/search")
async def search_notes(body: dict) -> dict:
    """Search the notes."""
    return body


outer = APIRouter()
outer.include_router(inner)


@outer.post("/debug")
async def debug(body: dict) -> dict:
    return body


app.include_router(outer, prefix="/v1")
