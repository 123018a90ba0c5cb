from fastapi import FastAPI
from pydantic import BaseModel
from starlette.middleware.sessions import SessionMiddleware

app = FastAPI()
app.add_middleware(SessionMiddleware, secret_key="signs the sessions of this example")


@app.post("/seed_session")
async def seed_session() -> dict:
    return {}


@app.post("/verify")
async def verify() -> dict:
    return {"reward": 1.0}


class Question(BaseModel):
    city: str
    days: int = 1


@app.post("/get_weather")
async def get_weather(body: Question):
    """Tell the weather of a city."""
    return {"weather": "sunny"}
